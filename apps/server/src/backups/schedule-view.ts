import type { BackupScheduleSettings, BackupScheduleView } from '@stackquay/contract'
import { type BackupSchedule, dueBackup, isScheduleLate, nextBackup } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Backups } from './open-backups.ts'
import { isBySchedule, lastScheduledAt } from './scheduled-backups.ts'

export interface ScheduleViewDeps {
  readonly store: Store
  readonly backups: Pick<Backups, 'known'>
  readonly now: () => Date
}

export async function scheduleView(
  project: string,
  schedule: BackupSchedule,
  { store, backups, now }: ScheduleViewDeps,
): Promise<BackupScheduleView> {
  const at = now()
  const dueAt = dueBackup(schedule, new Date(schedule.countsFrom), at)
  const lastBackupAt = lastScheduledAt(backups.known, project, at)
  const failed = await failureOf(schedule, store)
  return {
    ...settingsOf(schedule),
    nextAt: nextBackup(schedule, at)?.toISOString() ?? null,
    dueAt: dueAt?.toISOString() ?? null,
    lastBackupAt,
    late: isScheduleLate(schedule, lastBackupAt, at),
    problem: failed ?? (dueAt === null ? null : await whyItWaits(project, store)),
  }
}

/** What a person set of it. */
export function settingsOf({ cron, timezone, keep, verify }: BackupSchedule): BackupScheduleSettings {
  return { cron, timezone, keep, verify }
}

async function failureOf({ lastOperation }: BackupSchedule, { operations }: Store): Promise<string | null> {
  const last = lastOperation === null ? null : await operations.find(lastOperation)
  if (last?.state === 'cancelled') return `The last one was cancelled (${last.id}).`
  return last?.state === 'failed' ? (last.error?.detail ?? `The last one failed (${last.id}).`) : null
}

/** Null for the moment before it begins. */
async function whyItWaits(project: string, { operations }: Store): Promise<string | null> {
  const [holder] = await operations.unfinishedOf(project)
  if (holder !== undefined) return `It begins when the operation ${holder.id} (${holder.kind}) is done.`
  const isOther = (await operations.unfinished()).some(isBySchedule)
  return isOther ? 'It begins when other backups by schedule are done.' : null
}
