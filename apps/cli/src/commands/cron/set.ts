import type { OverlapPolicy } from '@stackquay/contract'
import { type Command, Option } from 'commander'
import { changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { addWorkOptions, commandBehind, type WorkFlags, workSettings } from '../../work/work-options.ts'

interface SetFlags extends WorkFlags {
  readonly timezone?: string
  readonly timeLimit?: string
  readonly overlap?: OverlapPolicy
}

/** The contract's list, which the compiler holds this against: no command loads the schemas for it. */
const policies: Readonly<Record<OverlapPolicy, true>> = { skip: true, replace: true, allow: true }

export const defineSet: Define = (command, context) => {
  addWorkOptions(command)
    .summary('add a cron job, or change it')
    .description(
      'Add a cron job, or change it. What is not named stays as it is. It runs at its next time, never at once.',
    )
    .usage('[options] <project> <name> [schedule] [-- <command>]')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the cron job')
    .argument('[schedule]', 'in quotes: minute, hour, day of month, month and day of week')
    .argument('[words...]')
    .option('--timezone <zone>', 'such as Europe/Berlin (default: the one of this machine)')
    .option('--time-limit <duration>', 'a run that takes longer is ended: 30s, 10m, 2h (default: 1h)')
    .addOption(
      new Option('--overlap <policy>', 'what a time does while a run is under way (default: skip)').choices(
        Object.keys(policies),
      ),
    )
    .addHelpText(
      'after',
      `
No shell reads the command: for one, say: stq cron set shop clean "0 3 * * *" -- sh -c 'rm -rf tmp/*'

  stq cron set shop nightly "0 3 * * *" --timezone Europe/Berlin -- php artisan report
  stq cron set shop nightly --time-limit 10m`,
    )
    .action((project: string, name: string, _schedule: string | undefined, _words: string[], flags: SetFlags) =>
      set(context(), command, project, name, flags),
    )
}

async function set(context: Context, command: Command, id: string, name: string, flags: SetFlags): Promise<void> {
  const { before, words } = commandBehind(command)
  const schedule = before[2]
  if (before.length > 3)
    throw usageError(
      `"${before[3]}" is not expected.`,
      'The schedule is one word, in quotes; the command stands after two dashes.',
    )
  const body = {
    cron: { [name]: { ...words, ...(await timesIn(context, id, name, schedule, flags)), ...restOf(flags) } },
  }
  const project = await changeProject(context, 'updateProject', { params: { id }, body }, flags)
  if (project === null) return
  noteDone(context, `The cron job ${name} is set${nextText(project.cron?.[name]?.nextAt)}`)
  if (context.json) context.result({ project: project.slug, cron: name, settings: project.cron?.[name] }, () => '')
}

function restOf(flags: SetFlags) {
  const { timeLimit, overlap } = flags
  return {
    ...(timeLimit === undefined ? {} : { timeLimit }),
    ...(overlap === undefined ? {} : { overlap }),
    ...workSettings(flags),
  }
}

/** A new job has the time zone of who makes it. */
async function timesIn(
  context: Context,
  id: string,
  name: string,
  schedule: string | undefined,
  { timezone }: SetFlags,
) {
  const times = schedule === undefined ? {} : { schedule }
  if (timezone !== undefined || schedule === undefined)
    return { ...times, ...(timezone === undefined ? {} : { timezone }) }
  const client = await context.client()
  const { cron = {} } = await client.call('getProject', { params: { id } }, { signal: context.signal })
  if (Object.hasOwn(cron, name)) return times
  return { ...times, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }
}

function nextText(nextAt: string | null | undefined): string {
  return nextAt == null ? '; it does not run now, because it is off or the project is stopped' : `. Next: ${nextAt}`
}
