import { Cron } from 'croner'
import { isTimeZone } from './time-zone.ts'

/*
 * When backups are made by themselves. Values in, values out: the clock is the caller's, and nothing here waits.
 */

/** Times on the wall of a time zone. */
export interface BackupTimes {
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly cron: string
  /** Of the IANA database: `Europe/Berlin`. */
  readonly timezone: string
}

/** What keeps these times from being a schedule, and in which field; null when nothing does. */
export function scheduleBlocker(
  { cron, timezone }: BackupTimes,
  now: Date,
): { readonly field: 'cron' | 'timezone'; readonly detail: string } | null {
  if (!isTimeZone(timezone))
    return { field: 'timezone', detail: `"${timezone}" is not a time zone. Example: Europe/Berlin` }
  if (cron.trim().split(/\s+/).length !== 5)
    return {
      field: 'cron',
      detail: `"${cron}" does not have five fields: minute, hour, day of month, month, day of week.`,
    }
  try {
    const next = nextBackup({ cron, timezone }, now)
    if (next !== null && next.getTime() - now.getTime() < farAwayMs) return null
    return { field: 'cron', detail: `"${cron}" names no time in the next five years.` }
  } catch (error) {
    return { field: 'cron', detail: `"${cron}" cannot be read: ${messageOf(error)}` }
  }
}

/** The first time after `after`; null when there is none. */
export function nextBackup(times: BackupTimes, after: Date): Date | null {
  return cronOf(times).nextRun(after)
}

/**
 * The time for which a backup is due now, or null. Only times after `since` count: the time for which the last one was begun, or
 * the moment when the schedule was set. However many of them passed, one backup is due, that of the last. A clock that is put
 * back makes none a second time.
 */
export function dueBackup(times: BackupTimes, since: Date, now: Date): Date | null {
  // What lies before a moment does not include it: asked from a millisecond later, a time that is now counts.
  const [last] = cronOf(times).previousRuns(1, new Date(now.getTime() + 1))
  return last !== undefined && last.getTime() > since.getTime() ? last : null
}

/**
 * Whether `since` was written by a clock that was wrong. Waiting for it to come would leave the project without backups, for years
 * maybe. A clock that is put back by less than a day, or over one time alone, is an ordinary correction.
 */
export function isClockFault(times: BackupTimes, since: Date, now: Date): boolean {
  if (since.getTime() - now.getTime() <= DAY_MS) return false
  const next = nextBackup(times, now)
  return next !== null && next.getTime() < since.getTime()
}

/** Late: half a period after the time that follows the last backup. `last` is when that one was made. */
export function isLate(times: BackupTimes, last: Date, now: Date): boolean {
  const due = nextBackup(times, last)
  if (due === null) return false
  const period = (nextBackup(times, due)?.getTime() ?? due.getTime()) - due.getTime()
  return now.getTime() > due.getTime() + period / 2
}

/** The last of moments that are written the same way, as RFC 3339 UTC. */
export function latestOf(first: string, ...others: readonly (string | null | undefined)[]): string {
  return (
    [first, ...others]
      .filter((time) => typeof time === 'string')
      .toSorted()
      .at(-1) ?? first
  )
}

const DAY_MS = 86_400_000
const farAwayMs = 5 * 366 * DAY_MS

/**
 * Never started, only asked. On the night when the clock goes forward, a time that is left out is moved behind the gap. On the night
 * when it goes back, a fixed time comes once, and one with `*` in hour or minute goes on at its pace.
 */
function cronOf({ cron, timezone }: BackupTimes): Cron {
  return new Cron(cron, { paused: true, mode: '5-part', fixedTimeRule: 'no-wildcard', timezone })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
}
