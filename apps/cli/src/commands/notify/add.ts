import { randomUUID } from 'node:crypto'
import type { CallInput } from '@stackquay/contract'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { channelSettings } from '../../notify/channel-settings.ts'
import { eachOf, wholeNumber } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

type Body = NonNullable<NonNullable<CallInput<'createNotificationChannel'>>['body']>

interface AddFlags {
  readonly kind: string
  readonly set?: readonly string[]
  readonly secretFile?: readonly string[]
  readonly events?: string
  readonly project?: readonly string[]
  readonly quietHours?: string
  readonly timezone?: string
  readonly cooldown?: string
}

export const defineAdd: Define = (command, context) =>
  command
    .argument('<name>', 'what it is called')
    .requiredOption('-k, --kind <kind>', 'email, slack, discord, telegram, teams, ntfy, gotify or webhook')
    .option('-s, --set <name=value>', 'a setting of the kind; can be given more than once', eachOf)
    .option('--secret-file <name=file>', 'what is secret of it, from the first line of a file', eachOf)
    .option('--events <events>', 'which, with commas between: down,backup-failed (default: all)')
    .option('-p, --project <project>', 'only of this project; can be given more than once', eachOf)
    .option('--quiet-hours <from-to>', 'messages wait for their end: 22:00-07:00')
    .option('--timezone <zone>', 'of the quiet hours: Europe/Berlin (default: of this machine)')
    .option('--cooldown <minutes>', 'between two messages about the same thing (default: 30)')
    .summary('add a channel')
    .description('Add a channel. What is secret is asked for, or read from a file; it is sealed and never shown.')
    .addHelpText(
      'after',
      '\n  stq notify add team --kind slack\n  stq notify add ops --kind email --set host=smtp.example.org --set from=quay@example.org --set to=ops@example.org',
    )
    .action((name: string, flags: AddFlags) => run(context(), name, flags))

async function run(context: Context, name: string, flags: AddFlags): Promise<void> {
  const rules = rulesOf(flags)
  const client = await context.client()
  const { kinds } = await client.call('listNotificationChannels', {}, { signal: context.signal })
  const kind = kinds.find((one) => one.name === flags.kind)
  if (kind === undefined)
    throw usageError(`There is no kind "${flags.kind}".`, `There is: ${kinds.map((one) => one.name).join(', ')}`)
  const settings = await channelSettings(context, kind, flags.set ?? [], flags.secretFile ?? [])
  const body: Body = { name, kind: kind.name, settings, ...rules }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const made = await client.call('createNotificationChannel', { body }, call)
  noteDone(context, `${plainText(name)} is added. Try it: stq notify test ${plainText(name)}`)
  context.result(made, () => (context.quiet ? made.id : ''))
}

function rulesOf({ events, project, quietHours, timezone, cooldown }: AddFlags): Partial<Body> {
  const [, from, to] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(quietHours ?? '') ?? []
  if (quietHours !== undefined && (from === undefined || to === undefined))
    throw usageError(`"${quietHours}" are no hours.`, 'An example: --quiet-hours 22:00-07:00')
  const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  return {
    ...(events === undefined
      ? {}
      : { events: events.split(',').map((one) => one.trim()) as NonNullable<Body['events']> }),
    ...(project === undefined ? {} : { projects: [...project] }),
    ...(from === undefined || to === undefined ? {} : { quietHours: { from, to, timezone: zone } }),
    ...(cooldown === undefined ? {} : { cooldownMinutes: wholeNumber(cooldown, '--cooldown', 1, 1440) }),
  }
}
