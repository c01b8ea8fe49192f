import type { BackupRetention } from '@stackquay/contract'
import { expiredBackups, type ScheduledBackup } from './backup-retention.ts'

/** A complete copy as its index on the target says. */
export interface TargetCopy {
  readonly id: string
  /** When the backup was made. RFC 3339 UTC. */
  readonly createdAt: string
  /** Of which project; null: of the instance itself. */
  readonly project: string | null
  /** Why the backup was made. */
  readonly source: string
  /** The instance that copied it; null where the index is of a version that did not say. */
  readonly instance: string | null
  /** Whether a schedule had it copied, and not a person. */
  readonly bySchedule: boolean
}

export interface CopyRetention {
  /** Null: all stay. */
  readonly keep: BackupRetention | null
  readonly timezone: string
  /** Since when so many are kept. */
  readonly keepSetAt: string
  /** Of which project; null: of the instance itself. */
  readonly project: string | null
  readonly instance: string
  /** What drills found, as far as it is known here. */
  found(id: string): ScheduledBackup['found']
}

/**
 * Ids of the copies that go after the one of `copied` was read back. Only what a schedule of this instance made and copied counts and goes: what
 * people copied stays, what another instance wrote too. The rules of backups here hold: the newest stays, and the newest that a drill
 * found whole while no other one that stays was.
 */
export function expiredCopies(
  copies: readonly TargetCopy[],
  copied: Pick<TargetCopy, 'id' | 'createdAt'>,
  { keep, timezone, keepSetAt, project, instance, found }: CopyRetention,
  now: Date,
): readonly string[] {
  // Only after a backup that is newer than the numbers: lowering them deletes nothing yet.
  if (keep === null || copied.createdAt <= keepSetAt) return []
  const own = copies.filter(
    (copy) => copy.instance === instance && copy.bySchedule && copy.source === 'schedule' && copy.project === project,
  )
  // What was read back a moment ago is there beyond doubt; without it nothing else is known to be.
  if (!own.some(({ id }) => id === copied.id)) return []
  const counted = own.map(({ id, createdAt }) => ({ id, createdAt, found: found(id) }))
  return expiredBackups(counted, keep, timezone, now).filter((id) => id !== copied.id)
}
