import type { BackupCopy, OperationRecord } from '@stackquay/contract'
import type { ScheduledBackup } from './backup-retention.ts'
import { type BackupTimes, isLate, latestOf } from './backup-schedule.ts'

/** A target that a schedule names, with all that is remembered of it. Times are RFC 3339 UTC. */
export interface ScheduledTarget {
  readonly target: string
  /** Backups from before are not copied to it. */
  readonly setAt: string
  /** When the newest backup was made of which a copy was complete on it. It is known also when that one is gone here. */
  readonly lastCopied: string | null
  /** The operation that made the last copy, or could not. */
  readonly lastOperation: string | null
  /** The newest backup with a copy on it that a drill found whole: known also when that one is gone here. */
  readonly lastWhole: { readonly id: string; readonly createdAt: string } | null
  /** Why old copies could not be deleted after the last one; null when they could. */
  readonly keepProblem: string | null
}

/** A backup by schedule and its copies, as this instance knows them. Lists of them are newest first. */
export interface CopiedBackup {
  readonly id: string
  readonly found: ScheduledBackup['found']
  readonly createdAt: string
  readonly copies: readonly Pick<BackupCopy, 'target' | 'state' | 'at'>[]
}

/** An operation that copies or copied a backup by schedule, of the same project. */
export interface CopyAttempt extends Pick<OperationRecord, 'state'> {
  readonly backup: string
  readonly target: string
}

/** Those that are named still keep what is remembered of them. */
export function withTargets(
  before: readonly ScheduledTarget[],
  ids: readonly string[],
  now: Date,
): readonly ScheduledTarget[] {
  return ids.map(
    (id) =>
      before.find(({ target }) => target === id) ?? {
        target: id,
        setAt: now.toISOString(),
        lastCopied: null,
        lastOperation: null,
        lastWhole: null,
        keepProblem: null,
      },
  )
}

/** What is copied is remembered before old backups go here, and what is known of their copies with them. */
export function withCopied(
  targets: readonly ScheduledTarget[],
  past: readonly CopiedBackup[],
): readonly ScheduledTarget[] {
  return targets.map((one) => ({ ...one, lastCopied: lastCopiedAt(one, past), lastWhole: lastWholeOn(one, past) }))
}

/**
 * Targets that the newest backup is to be copied to now. One copy at a time goes to a target: while the one of before is still sent, the
 * newest waits, and what came between is passed over. One that failed is tried again after an hour, one that was cancelled never.
 */
export function targetsToCopyTo(
  targets: readonly ScheduledTarget[],
  newest: CopiedBackup | undefined,
  attempts: readonly CopyAttempt[],
  now: Date,
): readonly string[] {
  if (newest === undefined) return []
  return targets.filter((one) => isDue(one, newest, attempts, now)).map(({ target }) => target)
}

function isDue(
  { target, setAt, lastCopied }: ScheduledTarget,
  newest: CopiedBackup,
  attempts: readonly CopyAttempt[],
  now: Date,
): boolean {
  const copy = newest.copies.find((one) => one.target === target)
  if (newest.createdAt <= setAt || copy?.state === 'complete') return false
  // It was there, and a person deleted it.
  if (copy === undefined && lastCopied !== null && lastCopied >= newest.createdAt) return false
  const ofTarget = attempts.filter((one) => one.target === target)
  if (ofTarget.some(({ state }) => state === 'queued' || state === 'running')) return false
  if (ofTarget.some(({ backup, state }) => backup === newest.id && state === 'cancelled')) return false
  return copy?.state !== 'incomplete' || !isWithinHour(copy.at, now)
}

/** Targets that no backup came to in time, by the rule of backups themselves. Where the newest lies already, only the next backup can be late. */
export function lateTargets(
  {
    targets,
    timesSetAt,
    ...times
  }: BackupTimes & { readonly targets: readonly ScheduledTarget[]; readonly timesSetAt: string },
  past: readonly CopiedBackup[],
  now: Date,
): readonly string[] {
  const isTargetLate = (one: ScheduledTarget) => {
    const copiedAt = lastCopiedAt(one, past)
    const isNewestThere = past[0] !== undefined && copiedAt !== null && copiedAt >= past[0].createdAt
    return !isNewestThere && isLate(times, new Date(latestOf(timesSetAt, one.setAt, copiedAt)), now)
  }
  return targets.filter(isTargetLate).map(({ target }) => target)
}

/** After a clock that was wrong: as if the targets had been named now. */
export function targetsCountedAnew(targets: readonly ScheduledTarget[], now: Date): readonly ScheduledTarget[] {
  return targets.map((one) => ({ ...one, setAt: now.toISOString(), lastCopied: null }))
}

function lastCopiedAt({ target, lastCopied }: ScheduledTarget, past: readonly CopiedBackup[]): string | null {
  const newest = past.find((backup) => isCopied(backup, target))?.createdAt
  return newest === undefined ? lastCopied : latestOf(newest, lastCopied)
}

/** One that a later drill found faulty is not remembered any longer. */
function lastWholeOn(
  { target, lastWhole }: ScheduledTarget,
  past: readonly CopiedBackup[],
): ScheduledTarget['lastWhole'] {
  const newest = past.find((backup) => backup.found === 'whole' && isCopied(backup, target))
  const known = past.find(({ id }) => id === lastWhole?.id)
  const before = known?.found === 'faulty' ? null : lastWhole
  if (newest === undefined || (before !== null && before.createdAt > newest.createdAt)) return before
  return { id: newest.id, createdAt: newest.createdAt }
}

function isCopied({ copies }: CopiedBackup, target: string): boolean {
  return copies.some((copy) => copy.target === target && copy.state === 'complete')
}

/** Not when it is ahead: the clock was wrong then, and waiting for it may take years. */
function isWithinHour(at: string, now: Date): boolean {
  const since = now.getTime() - Date.parse(at)
  return since >= 0 && since < 3_600_000
}
