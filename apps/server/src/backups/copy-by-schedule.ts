import { type BackupSchedule, type CopiedBackup, type CopyAttempt, targetsToCopyTo } from '@stackquay/domain'
import type { Orchestrator } from '@stackquay/orchestrator'
import { byTheService, type OperationRow, type Store, type Transaction } from '@stackquay/store'
import type { Backups } from './open-backups.ts'
import { queueCopy } from './queue-copy.ts'
import { actOn, type Subject } from './scheduled-subject.ts'
import { asker, isStill } from './still-the-schedule.ts'

interface CopyDeps {
  readonly store: Store
  readonly orchestrator: Orchestrator
  readonly backups: Backups
  onError(error: unknown, what: string): void
}

/**
 * Begins the copies that are due of the newest of the `past` backups. Answers the schedule with what it remembers of them; null when a
 * person changed it meanwhile: the next look sees that.
 */
export async function copyNewest(
  subject: Subject,
  schedule: BackupSchedule,
  past: readonly CopiedBackup[],
  now: Date,
  deps: CopyDeps,
): Promise<BackupSchedule | null> {
  const [newest] = past
  if (newest === undefined || schedule.targets.length === 0) return schedule
  const attempts = await attemptsOf(schedule, past, deps)
  let copied: BackupSchedule | null = schedule
  for (const target of targetsToCopyTo(schedule.targets, newest, attempts, now)) {
    if (copied === null) return null
    copied = await copy(subject, copied, { backup: newest.id, target }, deps)
  }
  return copied
}

/** Copies that are under way, also those that a person asked for, and the last one to each target. */
async function attemptsOf(
  { targets }: BackupSchedule,
  past: readonly CopiedBackup[],
  { store: { operations } }: CopyDeps,
): Promise<readonly CopyAttempt[]> {
  const ids = new Set<unknown>(past.map(({ id }) => id))
  const unfinished = (await operations.unfinished()).filter(
    ({ kind, input }) => kind === 'copy-backup' && ids.has(input.backup),
  )
  const last = targets.flatMap(({ lastOperation }) => lastOperation ?? [])
  const ended = await Promise.all(last.map((id) => operations.find(id)))
  return [...unfinished, ...ended.filter((one) => one !== null)].map(attemptOf)
}

function attemptOf({ state, input }: OperationRow): CopyAttempt {
  return { state, backup: String(input.backup), target: String(input.target) }
}

/** What cannot be written is tried again by a later look; the copies to other targets are begun all the same. */
async function copy(
  subject: Subject,
  schedule: BackupSchedule,
  what: { readonly backup: string; readonly target: string },
  deps: CopyDeps,
): Promise<BackupSchedule | null> {
  const { store, orchestrator, onError } = deps
  try {
    const accepted = await store.transaction((tx) => accept(tx, subject, schedule, what, deps))
    accepted?.begin({ orchestrator })
    return accepted?.schedule ?? null
  } catch (error) {
    onError(error, `beginning the copy of ${what.backup}`)
    return schedule
  }
}

/** The operation, what the schedule remembers of it and the audit entry are one, as those of a backup. */
async function accept(
  tx: Transaction,
  subject: Subject,
  before: BackupSchedule,
  { backup, target }: { readonly backup: string; readonly target: string },
  { store, backups }: CopyDeps,
) {
  if (!(await isStill(subject, before, store))) return null
  const { operation, begin } = await queueCopy(tx, { backup, target, bySchedule: true }, asker, backups)
  const schedule: BackupSchedule = {
    ...before,
    targets: before.targets.map((one) => (one.target === target ? { ...one, lastOperation: operation.id } : one)),
  }
  await tx.backupSchedules.put(subject?.id ?? null, schedule)
  const changes = { target, name: backups.copies.nameOf(target) }
  const entry = byTheService({ ...actOn(subject, 'copy', backup), changes })
  await tx.audit.append({ ...entry, operationId: operation.id })
  return { schedule, begin }
}
