import type { BackupScheduleSettings, BackupScheduleView, ScheduledCopy } from '@stackquay/contract'
import {
  type BackupSchedule,
  type CopiedBackup,
  dueBackup,
  latenessOf,
  nextBackup,
  pastBackups,
  type ScheduledTarget,
} from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import { isBySchedule, type SeenBackups, scheduledBackups } from './scheduled-backups.ts'

export interface ScheduleViewDeps {
  readonly store: Store
  readonly backups: SeenBackups
  readonly now: () => Date
}

export async function scheduleView(
  project: string | null,
  schedule: BackupSchedule,
  deps: ScheduleViewDeps,
): Promise<BackupScheduleView> {
  const { store, backups } = deps
  const at = deps.now()
  const dueAt = dueBackup(schedule, new Date(schedule.countsFrom), at)
  const past = pastBackups(await scheduledBackups(backups, project), at)
  const late = latenessOf(schedule, past, at)
  const failed = await failureOf(schedule, store)
  return {
    ...settingsOf(schedule),
    nextAt: nextBackup(schedule, at)?.toISOString() ?? null,
    dueAt: dueAt?.toISOString() ?? null,
    lastBackupAt: past[0]?.createdAt ?? null,
    late: late.any,
    problem: failed ?? (dueAt === null ? null : await whyItWaits(project, store)),
    copies: await Promise.all(schedule.targets.map((one) => copyView(one, past[0], late.targets, deps))),
  }
}

/** What a person set of it. */
export function settingsOf(schedule: BackupSchedule): BackupScheduleSettings {
  const { cron, timezone, keep, verify, targets, keepOnTargets } = schedule
  return { cron, timezone, keep, verify, targets: targets.map(({ target }) => target), keepOnTargets }
}

async function copyView(
  scheduled: ScheduledTarget,
  newest: CopiedBackup | undefined,
  late: readonly string[],
  { store, backups }: ScheduleViewDeps,
): Promise<ScheduledCopy> {
  const { target } = scheduled
  const copy = newest?.copies.find((one) => one.target === target)
  return {
    target,
    name: backups.copies.nameOf(target),
    state: copy?.state ?? null,
    at: copy?.at ?? null,
    late: late.includes(target),
    // A person may have completed it since.
    problem: copy?.state === 'complete' ? null : await copyFailureOf(scheduled, store),
    keepProblem: scheduled.keepProblem,
  }
}

type LastOf = Pick<BackupSchedule, 'lastOperation'>

async function failureOf({ lastOperation }: LastOf, { operations }: Store): Promise<string | null> {
  const last = lastOperation === null ? null : await operations.find(lastOperation)
  if (last?.state === 'cancelled') return `The last one was cancelled (${last.id}).`
  return last?.state === 'failed' ? (last.error?.detail ?? `The last one failed (${last.id}).`) : null
}

/** Without the detail, which names the place: who may read the project need not know where targets are. */
async function copyFailureOf({ lastOperation }: LastOf, { operations }: Store): Promise<string | null> {
  const last = lastOperation === null ? null : await operations.find(lastOperation)
  if (last?.state === 'cancelled') return `The last copy was cancelled (${last.id}).`
  return last?.state === 'failed' ? `${last.error?.title ?? 'The last copy failed'} (${last.id}).` : null
}

/** Null for the moment before it begins. */
async function whyItWaits(project: string | null, { operations }: Store): Promise<string | null> {
  const [holder] = project === null ? [] : await operations.unfinishedOf(project)
  if (holder !== undefined) return `It begins when the operation ${holder.id} (${holder.kind}) is done.`
  const isOther = (await operations.unfinished()).some(isBySchedule)
  return isOther ? 'It begins when other backups by schedule are done.' : null
}
