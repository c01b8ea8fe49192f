import type { BackupRetention, BackupScheduleSettings } from '@stackquay/contract'
import { expiredBackups, newestFirst, type ScheduledBackup } from './backup-retention.ts'
import { dueBackup, isClockFault, isLate, latestOf } from './backup-schedule.ts'
import {
  type CopiedBackup,
  lateTargets,
  type ScheduledTarget,
  targetsCountedAnew,
  withCopied,
  withTargets,
} from './scheduled-copies.ts'

/** A schedule with all that is remembered of it. Times are RFC 3339 UTC. */
export interface BackupSchedule extends Omit<BackupScheduleSettings, 'targets'> {
  readonly targets: readonly ScheduledTarget[]
  /** Since when its times are these. */
  readonly timesSetAt: string
  /** Since when so many are kept. */
  readonly keepSetAt: string
  /** Times up to this one are done with: a backup was begun for it, or it was before the schedule. */
  readonly countsFrom: string
  /** Whether it was told that it is late. */
  readonly late: boolean
  /** The operation that made the last backup, or could not. */
  readonly lastOperation: string | null
  /** The backup that was verified by itself last, or was to be. */
  readonly lastVerified: string | null
}

/**
 * The schedule after a person set it. New times count from now, so that setting them makes no backup. Where the times stay, one that is
 * due and waits is still due.
 */
export function withSettings(
  before: BackupSchedule | null,
  settings: BackupScheduleSettings,
  now: Date,
): BackupSchedule {
  const { cron, timezone, keep, verify, targets, keepOnTargets } = settings
  const at = now.toISOString()
  const isNew = before === null || before.cron !== cron || before.timezone !== timezone
  return {
    ...(isNew
      ? {
          timesSetAt: at,
          countsFrom: at,
          late: false,
          lastOperation: null,
          lastVerified: before?.lastVerified ?? null,
        }
      : before),
    cron,
    timezone,
    keep,
    verify,
    targets: withTargets(before?.targets ?? [], targets, now),
    keepOnTargets,
    keepSetAt:
      before !== null && isSameRetention(before.keep, keep) && isSameRetention(before.keepOnTargets, keepOnTargets)
        ? before.keepSetAt
        : at,
  }
}

/** What is to be done for a schedule now. Done, and asked again, nothing is. */
export interface ScheduledActs {
  /** The time for which a backup is due. */
  readonly backup: Date | null
  /** The backup that is to be verified. */
  readonly verify: string | null
  /** Backups that go, oldest last. */
  readonly remove: readonly string[]
  readonly late: Lateness
  /** What is remembered of the targets from now on. */
  readonly targets: readonly ScheduledTarget[]
  /** The clock was wrong when the schedule was written last: it is to count anew. */
  readonly countsAnew: boolean
}

/** As if it had been set now, by a clock that is right. */
export function countedAnew(schedule: BackupSchedule, now: Date): BackupSchedule {
  const at = now.toISOString()
  return {
    ...schedule,
    timesSetAt: at,
    keepSetAt: at,
    countsFrom: at,
    targets: targetsCountedAnew(schedule.targets, now),
  }
}

export interface SeenBackup extends CopiedBackup {
  readonly verifiedAt: string | null
}

export function scheduledActs(schedule: BackupSchedule, backups: readonly SeenBackup[], now: Date): ScheduledActs {
  const past = pastBackups(backups, now)
  const written = [schedule.countsFrom, schedule.keepSetAt, ...schedule.targets.map(({ setAt }) => setAt)]
  const countsFrom = new Date(schedule.countsFrom)
  return {
    backup: dueBackup(schedule, countsFrom, now),
    verify: toVerify(schedule, past, now),
    remove: toRemove(schedule, past, now),
    late: latenessOf(schedule, past, now),
    targets: withCopied(schedule.targets, past),
    countsAnew: written.some((time) => isClockFault(schedule, new Date(time), now)),
  }
}

/** Newest first. What a clock that was wrong made ahead of time is not among them. */
export function pastBackups<Backup extends { readonly id: string; readonly createdAt: string }>(
  backups: readonly Backup[],
  now: Date,
): readonly Backup[] {
  return backups.filter(({ createdAt }) => Date.parse(createdAt) <= now.getTime()).toSorted(newestFirst)
}

export interface Lateness {
  /** Whether anything is. */
  readonly any: boolean
  readonly backup: boolean
  /** Ids of targets whose copy is. */
  readonly targets: readonly string[]
}

/** Counted from the newest of the `past` backups, or from when the times were set. */
export function latenessOf(schedule: BackupSchedule, past: readonly CopiedBackup[], now: Date): Lateness {
  const backup = isLate(schedule, new Date(latestOf(schedule.timesSetAt, past[0]?.createdAt)), now)
  const targets = lateTargets(schedule, past, now)
  return { any: backup || targets.length > 0, backup, targets }
}

/** Only after a new backup is there: lowering the numbers deletes nothing yet, and neither does a backup that fails. */
function toRemove(
  { keep, keepSetAt, timezone }: BackupSchedule,
  past: readonly ScheduledBackup[],
  now: Date,
): readonly string[] {
  const [newest] = past
  return newest !== undefined && newest.createdAt > keepSetAt ? expiredBackups(past, keep, timezone, now) : []
}

/** The newest one. Once each: a drill that a person cancels does not come back by itself. */
function toVerify(
  { verify, lastVerified }: Pick<BackupSchedule, 'verify' | 'lastVerified'>,
  [newest, ...older]: readonly { readonly id: string; readonly verifiedAt: string | null }[],
  now: Date,
): string | null {
  if (verify === 'never' || newest === undefined) return null
  if (newest.verifiedAt !== null || newest.id === lastVerified) return null
  const isRecent = ({ verifiedAt }: { readonly verifiedAt: string | null }) =>
    verifiedAt !== null && now.getTime() - Date.parse(verifiedAt) < weekMs
  return verify === 'weekly' && older.some(isRecent) ? null : newest.id
}

const weekMs = 7 * 86_400_000

function isSameRetention(one: BackupRetention | null, other: BackupRetention | null): boolean {
  if (one === null || other === null) return one === other
  return (['last', 'daily', 'weekly', 'monthly'] as const).every((rule) => one[rule] === other[rule])
}
