import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { Cron } from 'croner'
import { isTimeZone } from './time-zone.ts'

/*
 * When a project sleeps and wakes by itself. Values in, values out: the clock is the caller's, and nothing here waits.
 */

/** At least one of `after` and `hours` stands. */
export interface SleepSpec {
  /** It sleeps when it was not used for so long: `2h`. Null: a quarter of an hour, outside its hours. */
  readonly after: string | null
  /** It is kept awake in these: `mon-fri 08:00-19:00`. Null: never only because of the hour. */
  readonly hours: string | null
  /** Of the IANA database; what `hours` are read by. */
  readonly timezone: string
}

/** How long a project without `after` stays awake outside its hours when nobody uses it. */
const afterHoursMs = 15 * 60_000
/** After the start of the service nothing falls asleep for so long: whoever could not reach it meanwhile may be about to come. */
export const graceMs = 2 * 60_000

/** What is known of the use of a project that runs. */
export interface UseFacts {
  /** The last use that is known; what began it counts too. */
  readonly lastUsedAt: Date
  /** Since when uses are seen: the start of the service. */
  readonly seenSince: Date
}

/** Whether a project that runs is to sleep now. */
export function isSleepDue(sleep: SleepSpec, facts: UseFacts, now: Date): boolean {
  return isUnusedFor(unusedMs(sleep), sleep, facts, now)
}

/** A project that runs. */
export interface AwakeProject {
  readonly id: string
  /** What all its programs take. */
  readonly bytes: number
  /** Null where it may not sleep by itself, or something is under way in it. */
  readonly idle: { readonly sleep: SleepSpec; readonly facts: UseFacts } | null
}

/**
 * Who sleeps before its time, because together they take more than `mostBytes`: the longest unused first, until the rest fits. The time
 * that a project may be unused counts as the shortest there is; who was used since then stays, however much is taken.
 */
export function sleepForMemory(projects: readonly AwakeProject[], mostBytes: number, now: Date): readonly string[] {
  let over = projects.reduce((sum, { bytes }) => sum + bytes, 0) - mostBytes
  return projects
    .filter(({ idle }) => idle !== null && isUnusedFor(leastAfterMs, idle.sleep, idle.facts, now))
    .toSorted((one, other) => lastOf(one) - lastOf(other))
    .filter(({ bytes }) => {
      const isNeeded = over > 0 && bytes > 0
      if (isNeeded) over -= bytes
      return isNeeded
    })
    .map(({ id }) => id)
}

const lastOf = ({ idle }: AwakeProject) => idle?.facts.lastUsedAt.getTime() ?? 0

function isUnusedFor(mostMs: number, sleep: SleepSpec, { lastUsedAt, seenSince }: UseFacts, now: Date): boolean {
  const unused = now.getTime() - lastUsedAt.getTime()
  if (unused < mostMs || now.getTime() - seenSince.getTime() < graceMs) return false
  return !isInHours(sleep, now)
}

/** Whether a project that sleeps is to wake now: its hours have begun since it fell asleep. Put to sleep within them it sleeps on. */
export function isWakeDue(sleep: SleepSpec, asleepSince: Date, now: Date): boolean {
  if (!isInHours(sleep, now)) return false
  return startsOf(sleep).some((start) => {
    // What lies before a moment does not include it: asked from a millisecond later, a time that is now counts.
    const [last] = start.previousRuns(1, new Date(now.getTime() + 1))
    return last !== undefined && last.getTime() > asleepSince.getTime()
  })
}

/** When its hours wake it; null when they never do. */
export function nextWake(sleep: SleepSpec, asleepSince: Date): Date | null {
  const next = startsOf(sleep).flatMap((start) => start.nextRun(asleepSince) ?? [])
  return next.toSorted((one, other) => one.getTime() - other.getTime())[0] ?? null
}

/**
 * The last use of all that were heard of. One that lies ahead was written by a clock that was wrong, and would keep the project awake
 * until then: it counts as now.
 */
export function lastUseOf(uses: readonly Date[], now: Date): Date {
  const last = Math.max(...uses.map((use) => use.getTime()))
  return new Date(Math.min(last, now.getTime()))
}

/** Whether the clock on the wall of the project's time zone shows one of its hours. */
export function isInHours({ hours, timezone }: SleepSpec, now: Date): boolean {
  if (hours === null) return false
  const { day, minute } = wallOf(timezone, now)
  const before = (day + 6) % 7
  return parseHours(hours).some(({ days, from, to }) =>
    from < to
      ? days.includes(day) && minute >= from && minute < to
      : (days.includes(day) && minute >= from) || (days.includes(before) && minute < to),
  )
}

/** The settings after a patch. Absent stays; null removes. */
export function mergeSleep(
  before: SleepSpec | undefined,
  { sleep: sent }: Pick<ProjectPatch, 'sleep'>,
  errors: FieldError[],
): SleepSpec | undefined {
  if (sent === undefined) return before
  if (sent === null) return undefined
  const next: SleepSpec = {
    after: sent.after === undefined ? (before?.after ?? null) : sent.after,
    hours: sent.hours === undefined ? (before?.hours ?? null) : sent.hours,
    timezone: sent.timezone ?? before?.timezone ?? 'UTC',
  }
  const faults = sleepFaults(next)
  errors.push(...faults)
  return faults.length > 0 ? before : next
}

/** What is wrong with settings, each by its field. */
export function sleepFaults({ after, hours, timezone }: SleepSpec): readonly FieldError[] {
  const faults: FieldError[] = []
  if (after === null && hours === null)
    faults.push({
      pointer: '/sleep',
      code: 'required',
      detail:
        'Say "after", such as "2h", or "hours", such as "mon-fri 08:00-19:00". To never sleep, send "sleep": null.',
    })
  if (after !== null && !isBetween(millisecondsOf(after), leastAfterMs, mostAfterMs))
    faults.push({ pointer: '/sleep/after', code: 'invalid', detail: `"${after}" is not from 1m to 30d. Example: 2h` })
  const fault = hours === null ? null : hoursFault(hours)
  if (fault !== null) faults.push({ pointer: '/sleep/hours', code: 'invalid', detail: fault })
  if (!isTimeZone(timezone))
    faults.push({
      pointer: '/sleep/timezone',
      code: 'invalid',
      detail: `"${timezone}" is not a time zone. Example: Europe/Berlin`,
    })
  return faults
}

const leastAfterMs = 60_000
const mostAfterMs = 30 * 86_400_000

function unusedMs({ after }: SleepSpec): number {
  return after === null ? afterHoursMs : millisecondsOf(after)
}

/** NaN for what is no duration. */
function millisecondsOf(duration: string): number {
  const [, count, unit] = /^([1-9]\d{0,4})(m|h|d)$/.exec(duration) ?? []
  return Number(count) * (units[unit ?? ''] ?? Number.NaN)
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}

interface Hours {
  /** Days on which they begin; 0 is Sunday. */
  readonly days: readonly number[]
  /** Minutes since midnight; a `to` that is not later than `from` is on the next day. */
  readonly from: number
  readonly to: number
}

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/** `mon-fri 08:00-19:00, sat 10:00-14:00`. Of a text that has no fault. */
function parseHours(text: string): readonly Hours[] {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const hours = text.split(',').map((part): Hours => {
    const [, days = '', from = '', to = ''] = hoursForm.exec(part.trim().toLowerCase()) ?? []
    return { days: daysOf(days), from: minuteOf(from), to: minuteOf(to) }
  })
  if (parsed.size >= mostParsed) parsed.clear()
  parsed.set(text, hours)
  return hours
}

/** A look at a thousand projects reads the same few texts again and again. */
const parsed = new Map<string, readonly Hours[]>()
const mostParsed = 1_000

const hoursForm = /^([a-z]+(?:-[a-z]+)?) +(\d{2}:\d{2})-(\d{2}:\d{2})$/

function hoursFault(text: string): string | null {
  const example = 'Example: mon-fri 08:00-19:00, sat 10:00-14:00'
  const parts = text.split(',')
  if (parts.length > 7) return `There are more than seven. ${example}`
  for (const part of parts) {
    const [, days, from, to] = hoursForm.exec(part.trim().toLowerCase()) ?? []
    if (days === undefined || from === undefined || to === undefined)
      return `"${part.trim()}" is not days and hours. ${example}`
    if (daysOf(days).length === 0)
      return `"${days}" names no days: daily, or mon, tue, wed, thu, fri, sat, sun. ${example}`
    const times = [from, to].find((time) => !(minuteOf(time) <= (time === to ? lastMinute : lastMinute - 1)))
    if (times !== undefined) return `"${times}" is not a time of day. ${example}`
    if (minuteOf(from) === minuteOf(to)) return `"${from}-${to}" is no time at all. The whole day is 00:00-24:00.`
  }
  return null
}

const lastMinute = 24 * 60

/** NaN for what is no time of day. */
function minuteOf(time: string): number {
  const [hour = '', minute = ''] = time.split(':')
  return Number(minute) < 60 ? Number(hour) * 60 + Number(minute) : Number.NaN
}

/** From the first to the last, over Sunday too. Empty for what names no days. */
function daysOf(text: string): readonly number[] {
  if (text === 'daily') return [0, 1, 2, 3, 4, 5, 6]
  const [first = '', last = first] = text.split('-')
  const [from, to] = [dayNames.indexOf(first), dayNames.indexOf(last)]
  if (from === -1 || to === -1) return []
  const count = ((to - from + 7) % 7) + 1
  return Array.from({ length: count }, (_, at) => (from + at) % 7)
}

/**
 * When the hours begin. Never started, only asked. On the night when the clock goes forward, a beginning that is left out is moved behind
 * the gap; when it goes back it comes once.
 */
function startsOf({ hours, timezone }: SleepSpec): readonly Cron[] {
  if (hours === null) return []
  return parseHours(hours).map(({ days, from }) => {
    const pattern = `${from % 60} ${Math.floor(from / 60)} * * ${days.join(',')}`
    return new Cron(pattern, { paused: true, mode: '5-part', fixedTimeRule: 'no-wildcard', timezone })
  })
}

function wallOf(timezone: string, now: Date): { readonly day: number; readonly minute: number } {
  const parts = formatOf(timezone).formatToParts(now)
  const text = (type: Intl.DateTimeFormatPartTypes) => parts.find((part) => part.type === type)?.value ?? ''
  return {
    day: dayNames.indexOf(text('weekday').toLowerCase()),
    minute: Number(text('hour')) * 60 + Number(text('minute')),
  }
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  formats.set(timezone, format)
  return format
}

/** What a project is to be: `sleeping` is to run, and does once somebody uses it. */
export type Desired = 'running' | 'stopped' | 'sleeping'

/** What its programs are to be. */
export function goalOf(desired: Desired): 'running' | 'stopped' {
  return desired === 'running' ? 'running' : 'stopped'
}
