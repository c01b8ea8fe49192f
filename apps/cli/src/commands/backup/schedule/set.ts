import type { BackupScheduleView, CallInput } from '@stackquay/contract'
import { findTarget } from '../../../backups/find-target.ts'
import { scheduleText } from '../../../backups/schedule-text.ts'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { usageError } from '../../../errors.ts'
import { eachOf, wholeNumber } from '../../../options.ts'

interface Flags {
  readonly timezone?: string
  readonly verify?: string
  readonly keepLast?: string
  readonly keepDaily?: string
  readonly keepWeekly?: string
  readonly keepMonthly?: string
  readonly target?: readonly string[]
  readonly copies: boolean
}

type Body = NonNullable<CallInput<'putBackupSchedule'>['body']>

export const defineSet: Define = (command, context) => {
  command
    .summary('set when backups are made by themselves, and how many stay')
    .description(
      'Set when backups are made by themselves, and how many stay. What is not named stays as it is; of a new schedule it takes its default.',
    )
    .argument('<project>', 'id or slug')
    .argument(
      '<cron>',
      'minute, hour, day of month, month and day of week, in quotes: "30 2 * * *" is every night at 02:30',
    )
    .option('--timezone <zone>', 'such as Europe/Berlin (default: the one of this machine)')
    .option('--verify <which>', 'always, weekly or never (default: weekly)')
    .option('--keep-last <count>', 'the newest (default: 7)')
    .option('--keep-daily <count>', 'the newest of each of so many days (default: 7)')
    .option('--keep-weekly <count>', 'the newest of each of so many weeks (default: 4)')
    .option('--keep-monthly <count>', 'the newest of each of so many months (default: 6)')
    .option('--target <name or id>', 'copy each new one to this backup target; can be repeated', eachOf)
    .option('--no-copies', 'copy them to no target any more')
    .action((project: string, cron: string, flags: Flags) => set(context(), project, cron, flags))
}

async function set(context: Context, id: string, cron: string, flags: Flags): Promise<void> {
  const named = namedIn(flags)
  const targets = await targetsIn(flags, context)
  const client = await context.client()
  const { schedule: before } = await client.call('getBackupSchedule', { params: { id } }, { signal: context.signal })
  const body: Body = {
    timezone: before?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(before === null ? {} : { verify: before.verify, targets: before.targets }),
    ...named,
    ...(targets === null ? {} : { targets }),
    cron,
    keep: { ...before?.keep, ...named.keep },
  }
  const state = await client.call('putBackupSchedule', { params: { id }, body }, { signal: context.signal })
  noteDone(context, `Backups of ${id} are made by schedule`)
  context.result(state, () => (state.schedule === null || context.quiet ? '' : scheduleText(state.schedule, context)))
}

function namedIn(flags: Flags): Partial<Body> {
  return {
    ...(flags.timezone === undefined ? {} : { timezone: flags.timezone }),
    ...(flags.verify === undefined ? {} : { verify: policyOf(flags.verify) }),
    keep: {
      ...count('last', flags.keepLast, 1),
      ...count('daily', flags.keepDaily, 0),
      ...count('weekly', flags.keepWeekly, 0),
      ...count('monthly', flags.keepMonthly, 0),
    },
  }
}

/** Null when nothing is said of them. */
async function targetsIn({ target, copies }: Flags, context: Context): Promise<string[] | null> {
  if (!copies && target !== undefined) throw usageError('--target and --no-copies stand against each other.')
  if (!copies) return []
  if (target === undefined) return null
  const found = await Promise.all(target.map((named) => findTarget(context, named)))
  return [...new Set(found.map(({ id }) => id))]
}

function count(rule: keyof BackupScheduleView['keep'], text: string | undefined, least: number) {
  return text === undefined ? {} : { [rule]: wholeNumber(text, `--keep-${rule}`, least, 1000) }
}

/** The contract's list, which the compiler holds this against: no command loads the schemas for it. */
const policies: Readonly<Record<BackupScheduleView['verify'], true>> = { always: true, weekly: true, never: true }

function policyOf(text: string): BackupScheduleView['verify'] {
  if (Object.hasOwn(policies, text)) return text as BackupScheduleView['verify']
  throw usageError(`--verify takes ${Object.keys(policies).join(', ')}, and "${text}" is none of them.`)
}
