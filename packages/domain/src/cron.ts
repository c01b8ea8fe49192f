import { dueBackup, isClockFault, nextBackup } from './backup-schedule.ts'
import type { CronSpec, ProjectSpec } from './spec.ts'

/*
 * When cron jobs run. Values in, values out: the clock is the caller's, and nothing here waits. Which times a pattern has is asked as
 * for schedules of backups.
 */

/** What is remembered of a cron job. Times are RFC 3339 UTC. */
export interface CronState {
  /** The times that `countsFrom` counts. */
  readonly schedule: string
  readonly timezone: string
  /** Times up to this one are done with: they were begun, passed over, or before the job. */
  readonly countsFrom: string
  /** Whether its project was to run when it was looked at last. */
  readonly active: boolean
  readonly skippedAt: string | null
  readonly skippedBecause: CronSkipped | null
}
export type CronSkipped = 'stopped' | 'still_running' | 'too_many'

export interface CronSeen {
  /** Its project is ready, and wanted to run. */
  readonly running: boolean
  /** Something is done with the project that a command must not meet: its times wait. */
  readonly held: boolean
  /** How many of its runs are under way. */
  readonly runs: number
  /** Whether the project has room for one more run. */
  readonly room: boolean
}

export interface CronAct {
  /** What is remembered from now on. */
  readonly state: CronState
  /** The time for which a run is to be started. */
  readonly start: Date | null
  /** Runs that are under way are to be ended; the time stays due until they are. */
  readonly ends: boolean
}

/** With `allow`. */
export const mostOverlapping = 5

/**
 * What is to be done now for a job that is on; of one that is off nothing is remembered. `since` is when its settings were written, as far as that is known: times before it were never
 * meant. However many times passed, one run makes up for them, that of the last. Done, and asked again, nothing is.
 */
export function cronAct(job: CronSpec, before: CronState | null, seen: CronSeen, since: Date, now: Date): CronAct {
  const times = { cron: job.schedule, timezone: job.timezone }
  const active = seen.running
  const state = currentState(job, before, active, since, now)
  const nothing = { state, start: null, ends: false }
  if (!active) return nothing
  const due = dueBackup(times, new Date(state.countsFrom), now)
  if (due === null || seen.held) return nothing
  const passed = (because: CronSkipped): CronAct => ({ ...nothing, state: skipped(state, due, because) })
  if (seen.runs > 0) {
    if (job.overlap === 'skip') return passed('still_running')
    if (job.overlap === 'replace') return { ...nothing, ends: true }
    if (seen.runs >= mostOverlapping) return passed('too_many')
  }
  if (!seen.room) return nothing
  return { state: { ...state, countsFrom: due.toISOString() }, start: due, ends: false }
}

/** What counts now: other times count anew, and so do those after its project was stopped. */
function currentState(
  { schedule, timezone }: CronSpec,
  before: CronState | null,
  active: boolean,
  since: Date,
  now: Date,
): CronState {
  const times = { cron: schedule, timezone }
  const from = (since.getTime() < now.getTime() ? since : now).toISOString()
  const isOther = before === null || before.schedule !== schedule || before.timezone !== timezone
  if (isOther)
    return {
      schedule,
      timezone,
      countsFrom: from,
      active,
      skippedAt: before?.skippedAt ?? null,
      skippedBecause: before?.skippedBecause ?? null,
    }
  const counted = new Date(before.countsFrom)
  if (isClockFault(times, counted, now)) return { ...before, active, countsFrom: now.toISOString() }
  if (before.active && !active) return { ...before, active }
  if (before.active || !active) return before
  // Started again. What passed meanwhile is told, and not made up for.
  const start = new Date(Math.max(counted.getTime(), Date.parse(from)))
  const missed = dueBackup(times, counted, start)
  const noted = missed === null ? before : skipped(before, missed, 'stopped')
  return { ...noted, active, countsFrom: start.toISOString() }
}

function skipped(state: CronState, at: Date, because: CronSkipped): CronState {
  return { ...state, countsFrom: at.toISOString(), skippedAt: at.toISOString(), skippedBecause: because }
}

/** The last time that was passed over, also while the project is stopped and nobody writes it down. */
export function lastSkip(
  job: CronSpec,
  state: CronState,
  now: Date,
): { readonly at: string; readonly because: CronSkipped } | null {
  if (!state.active && job.enabled && state.schedule === job.schedule && state.timezone === job.timezone) {
    const missed = dueBackup({ cron: job.schedule, timezone: job.timezone }, new Date(state.countsFrom), now)
    if (missed !== null) return { at: missed.toISOString(), because: 'stopped' }
  }
  const { skippedAt, skippedBecause } = state
  return skippedAt === null || skippedBecause === null ? null : { at: skippedAt, because: skippedBecause }
}

/** The next times after `after`, soonest first. */
export function nextCronTimes(job: Pick<CronSpec, 'schedule' | 'timezone'>, after: Date, count: number): Date[] {
  const times: Date[] = []
  for (let next: Date | null = after; times.length < count; times.push(next)) {
    next = nextBackup({ cron: job.schedule, timezone: job.timezone }, next)
    if (next === null) break
  }
  return times
}

/** Whether any job is on. */
export function hasCron({ cron = {} }: Pick<ProjectSpec, 'cron'>): boolean {
  return Object.values(cron).some(({ enabled }) => enabled)
}

const unitSeconds = { s: 1, m: 60, h: 3600 } as const

/** `10m` is 600. Of what has another form: 0. */
export function timeLimitSeconds(text: string): number {
  const [, number = '0', unit = 's'] = /^(\d+)([smh])$/.exec(text) ?? []
  return Number(number) * unitSeconds[unit as keyof typeof unitSeconds]
}
