import type { BackupScheduleSettings, BackupScheduleView } from '@stackquay/contract'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { eachOf, wholeNumber } from '../options.ts'
import { findTarget } from './find-target.ts'

export interface ScheduleFlags extends TargetKeepFlags {
  readonly timezone?: string
  readonly keepLast?: string
  readonly keepDaily?: string
  readonly keepWeekly?: string
  readonly keepMonthly?: string
  readonly target?: readonly string[]
  readonly copies: boolean
}

interface TargetKeepFlags {
  readonly targetKeepLast?: string
  readonly targetKeepDaily?: string
  readonly targetKeepWeekly?: string
  readonly targetKeepMonthly?: string
  readonly targetKeepAll?: boolean
}

export const cronArgument =
  'minute, hour, day of month, month and day of week, in quotes: "30 2 * * *" is every night at 02:30'

/** What schedules of projects and of the instance are set with alike. */
export function addScheduleOptions(command: Command): Command {
  return command
    .option('--timezone <zone>', 'such as Europe/Berlin (default: the one of this machine)')
    .option('--keep-last <count>', 'the newest (default: 7)')
    .option('--keep-daily <count>', 'the newest of each of so many days (default: 7)')
    .option('--keep-weekly <count>', 'the newest of each of so many weeks (default: 4)')
    .option('--keep-monthly <count>', 'the newest of each of so many months (default: 6)')
    .option('--target <name or id>', 'copy each new one to this backup target; can be repeated', eachOf)
    .option('--no-copies', 'copy them to no target any more')
    .option('--target-keep-last <count>', 'delete older copies on targets: keep the newest (default: all stay)')
    .option('--target-keep-daily <count>', 'and the newest of each of so many days')
    .option('--target-keep-weekly <count>', 'and the newest of each of so many weeks')
    .option('--target-keep-monthly <count>', 'and the newest of each of so many months')
    .option('--target-keep-all', 'delete no copies on targets any more')
}

type Before = Omit<BackupScheduleView, 'verify'> | null

/** What is not named stays as it is; of a new schedule it takes its default. */
export async function settingsIn(cron: string, flags: ScheduleFlags, before: Before, context: Context) {
  const targets = await targetsIn(flags, context)
  const { keepLast, keepDaily, keepWeekly, keepMonthly } = flags
  return {
    cron,
    timezone: flags.timezone ?? before?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    keep: {
      ...before?.keep,
      ...count('last', '--keep', keepLast, 1),
      ...count('daily', '--keep', keepDaily, 0),
      ...count('weekly', '--keep', keepWeekly, 0),
      ...count('monthly', '--keep', keepMonthly, 0),
    },
    ...(targets === null ? (before === null ? {} : { targets: before.targets }) : { targets }),
    ...keptOnTargets(flags, before?.keepOnTargets ?? null),
  }
}

/** Nothing is kept beside what is named, where all stayed before: another rule that nobody named would keep more than was asked for. */
function keptOnTargets(flags: TargetKeepFlags, before: BackupScheduleSettings['keepOnTargets']) {
  const { targetKeepLast, targetKeepDaily, targetKeepWeekly, targetKeepMonthly, targetKeepAll } = flags
  const named = {
    ...count('last', '--target-keep', targetKeepLast, 1),
    ...count('daily', '--target-keep', targetKeepDaily, 0),
    ...count('weekly', '--target-keep', targetKeepWeekly, 0),
    ...count('monthly', '--target-keep', targetKeepMonthly, 0),
  }
  const isNamed = Object.keys(named).length > 0
  if (targetKeepAll === true && isNamed)
    throw usageError('--target-keep-all and the other --target-keep options stand against each other.')
  if (targetKeepAll === true) return { keepOnTargets: null }
  if (!isNamed) return before === null ? {} : { keepOnTargets: before }
  return { keepOnTargets: { ...(before ?? { last: 1, daily: 0, weekly: 0, monthly: 0 }), ...named } }
}

/** Null when nothing is said of them. */
async function targetsIn({ target, copies }: ScheduleFlags, context: Context): Promise<string[] | null> {
  if (!copies && target !== undefined) throw usageError('--target and --no-copies stand against each other.')
  if (!copies) return []
  if (target === undefined) return null
  const found = await Promise.all(target.map((named) => findTarget(context, named)))
  return [...new Set(found.map(({ id }) => id))]
}

function count(rule: keyof BackupScheduleView['keep'], option: string, text: string | undefined, least: number) {
  return text === undefined ? {} : { [rule]: wholeNumber(text, `${option}-${rule}`, least, 1000) }
}
