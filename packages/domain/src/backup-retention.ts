import type { BackupRetention } from '@stackquay/contract'

/** A backup that was made by schedule. Others are neither counted nor deleted, so nothing here knows of them. */
export interface ScheduledBackup {
  readonly id: string
  /** RFC 3339 UTC. */
  readonly createdAt: string
  /** What the last restore drill found; null when there was none that could be made. */
  readonly found: 'whole' | 'faulty' | null
}

/**
 * Ids of the backups that go. Beside what the rules keep, the newest stays, and the newest that a drill found whole while none of the
 * others that stay was. One that was found faulty takes the place of none, so a fault that nobody looks at does not push out what is good.
 * One from the future was made while the clock was wrong: it says nothing of what is new, and is left to people.
 */
export function expiredBackups(
  backups: readonly ScheduledBackup[],
  keep: BackupRetention,
  timezone: string,
  now: Date,
): readonly string[] {
  const counted = backups.filter(({ createdAt }) => Date.parse(createdAt) <= now.getTime()).toSorted(newestFirst)
  const sound = counted.filter(({ found }) => found !== 'faulty')
  const day = dayIn(timezone)
  const kept = new Set([...counted.slice(0, 1), ...sound.slice(0, keep.last)].map(({ id }) => id))
  const rules: readonly (readonly [number, (time: Date) => string])[] = [
    [keep.daily, day],
    [keep.weekly, (time) => mondayOf(day(time))],
    [keep.monthly, (time) => day(time).slice(0, 7)],
  ]
  for (const [count, periodOf] of rules) for (const id of newestOfEach(sound, count, periodOf)) kept.add(id)
  const whole = sound.filter(({ found }) => found === 'whole')
  if (whole[0] !== undefined && !whole.some(({ id }) => kept.has(id))) kept.add(whole[0].id)
  return counted.map(({ id }) => id).filter((id) => !kept.has(id))
}

type Placed = Pick<ScheduledBackup, 'createdAt' | 'id'>

export function newestFirst(one: Placed, other: Placed): number {
  return compare(other.createdAt, one.createdAt) || compare(other.id, one.id)
}

function newestOfEach(
  sorted: readonly ScheduledBackup[],
  count: number,
  periodOf: (time: Date) => string,
): readonly string[] {
  const newest = new Map<string, string>()
  for (const { id, createdAt } of sorted) {
    const period = periodOf(new Date(createdAt))
    if (!newest.has(period)) newest.set(period, id)
  }
  return [...newest.values()].slice(0, count)
}

/** `2026-11-25` on the wall of the time zone. */
function dayIn(timezone: string): (time: Date) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  return (time) => format.format(time)
}

/** The week is named by it. */
function mondayOf(day: string): string {
  const time = Date.parse(`${day}T00:00:00Z`)
  const sinceMonday = (new Date(time).getUTCDay() + 6) % 7
  return new Date(time - sinceMonday * 86_400_000).toISOString().slice(0, 10)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
