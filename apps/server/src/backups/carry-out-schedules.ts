import { isDeepStrictEqual } from 'node:util'
import { ProblemError } from '@stackquay/contract'
import {
  type BackupSchedule,
  countedAnew,
  type Lateness,
  nextBackup,
  pastBackups,
  scheduledActs,
} from '@stackquay/domain'
import type { Orchestrator } from '@stackquay/orchestrator'
import { byTheService, newId, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import { acceptAlone, begin, queueOperation, submitted } from '../projects/accept.ts'
import type { Model } from '../projects/model.ts'
import { scheduleEvent } from './backup-event.ts'
import { copyNewest } from './copy-by-schedule.ts'
import type { Backups } from './open-backups.ts'
import { removeBackup } from './remove-backup.ts'
import { removeOwnBackup } from './remove-own-backup.ts'
import { isBySchedule, scheduledBackups } from './scheduled-backups.ts'
import { actOn, type Subject } from './scheduled-subject.ts'
import { asker, isStill } from './still-the-schedule.ts'

export interface CarryOutDeps {
  readonly store: Store
  readonly model: Model
  readonly orchestrator: Orchestrator
  readonly backups: Backups
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

/** Most schedules name the same hour of the night. More than these would slow down each other and the projects. */
const atOnce = 2

/** Begins what is due, copies what is new, tells what is late and removes what is old. Done twice, it is the same as done once. */
export async function carryOutSchedules(
  deps: CarryOutDeps,
): Promise<{ readonly restMs: number; readonly waits: boolean }> {
  const { store, onError } = deps
  // One moment for all of a look: a time that comes meanwhile is the next one, and not passed over.
  const now = deps.now()
  const wanted: Wanted[] = []
  let restMs = Number.POSITIVE_INFINITY
  for (const [project, schedule] of await store.backupSchedules.all()) {
    try {
      wanted.push(...(await lookAt(project, schedule, now, deps)))
      restMs = Math.min(restMs, msToNext(schedule, now))
    } catch (error) {
      onError(error, `the backup schedule of ${project ?? 'the instance'}`)
    }
  }
  let running = (await store.operations.unfinished()).filter(isBySchedule).length
  let waits = false
  for (const one of wanted.sort(byTurn)) {
    const isBegun = running < atOnce && (await beginWanted(one, deps))
    if (isBegun) running += 1
    else waits = true
  }
  return { restMs, waits }
}

/** A backup or a drill that a schedule asks for. */
interface Wanted {
  /** Null: the instance itself. */
  readonly row: ProjectRow | null
  readonly schedule: BackupSchedule
  readonly kind: 'backup' | 'verify'
  /** The backup that is made or verified. */
  readonly backup: string
  /** The time for which it is made; null for a drill. */
  readonly dueAt: Date | null
}

async function lookAt(
  project: string | null,
  stored: BackupSchedule,
  now: Date,
  deps: CarryOutDeps,
): Promise<readonly Wanted[]> {
  const { store, backups } = deps
  const row = project === null ? null : await store.projects.find(project)
  if (project !== null && row?.phase !== 'ready') return []
  const past = pastBackups(await scheduledBackups(backups, project), now)
  const acts = scheduledActs(stored, past, now)
  const { late, targets } = acts
  const after = acts.countsAnew ? countedAnew(stored, now) : { ...stored, late: late.any, targets }
  const lastBackupAt = past[0]?.createdAt ?? null
  const noted = await note(row, { before: stored, after }, { lastBackupAt, late }, deps)
  if (noted === null || acts.countsAnew) return []
  const schedule = await copyNewest(row, noted, past, now, deps)
  if (schedule === null) return []
  for (const id of acts.remove) await remove(row, id, deps)
  const backup = newId(row === null ? 'ibk' : 'bak', now)
  if (acts.backup !== null) return [{ row, schedule, kind: 'backup', backup, dueAt: acts.backup }]
  if (row === null) return []
  // Data of another engine starts on none of this project.
  const isOfThisEngine = backups.known.find(acts.verify ?? '')?.manifest.engine === row.engine
  if (acts.verify === null || !isOfThisEngine) return []
  return [{ row, schedule, kind: 'verify', backup: acts.verify, dueAt: null }]
}

/** Backups before drills, and what is due for longest first. */
function byTurn({ dueAt: one }: Wanted, { dueAt: other }: Wanted): number {
  return (one?.getTime() ?? Number.MAX_SAFE_INTEGER) - (other?.getTime() ?? Number.MAX_SAFE_INTEGER)
}

function msToNext(schedule: BackupSchedule, now: Date): number {
  const next = nextBackup(schedule, now)
  return next === null ? Number.POSITIVE_INFINITY : next.getTime() - now.getTime()
}

/** Null when a person changed it since it was read: the next look sees that. */
async function note(
  subject: Subject,
  { before, after }: { readonly before: BackupSchedule; readonly after: BackupSchedule },
  seen: { readonly lastBackupAt: string | null; readonly late: Lateness },
  { store }: CarryOutDeps,
): Promise<BackupSchedule | null> {
  if (isDeepStrictEqual(before, after)) return before
  return store.transaction(async (tx) => {
    if (!(await isStill(subject, before, store))) return null
    await tx.backupSchedules.put(subject?.id ?? null, after)
    if (after.late && !before.late) await tellLate(tx, subject, seen)
    return after
  })
}

async function tellLate(
  tx: Transaction,
  subject: Subject,
  { lastBackupAt, late }: { readonly lastBackupAt: string | null; readonly late: Lateness },
): Promise<void> {
  const entry = {
    ...actOn(subject, 'late'),
    outcome: 'failure',
    changes: { lastBackupAt, lateTargets: late.targets },
  } as const
  await tx.audit.append(byTheService(entry))
  await tx.events.append(scheduleEvent('backup.late', subject?.id ?? null))
}

/** One that an operation reads, or that cannot be deleted now, stays until a later look. It keeps no new one from being made. */
async function remove(subject: Subject, id: string, { backups, store, onError }: CarryOutDeps): Promise<void> {
  const known = backups.known.find(id)?.manifest
  if (subject !== null && known === undefined) return
  const by = { audit: byTheService }
  const removed =
    known === undefined ? removeOwnBackup(id, by, { store, backups }) : removeBackup(known, by, { store, backups })
  await removed.catch((error: unknown) => {
    if (!isBusy(error)) onError(error, `deleting the backup ${id}`)
  })
}

/** Not while something else is done with the project. */
async function beginWanted(wanted: Wanted, deps: CarryOutDeps): Promise<boolean> {
  const accepted = await deps.store
    .transaction((tx) => accept(tx, wanted, deps))
    .catch((error: unknown) => {
      // What cannot be written is tried again by a later look; the others are begun all the same.
      if (!isBusy(error)) deps.onError(error, `beginning the ${wanted.kind} of ${wanted.row?.slug ?? 'the instance'}`)
      return null
    })
  if (accepted === null) return false
  if (accepted.operation.project === null) submitted(accepted.operation, deps.orchestrator)
  else begin(accepted, deps)
  return true
}

/** The operation, what the schedule remembers of it and the audit entry are one: none of them is there alone, whatever is killed. */
async function accept(tx: Transaction, { row, schedule, kind, backup, dueAt }: Wanted, { store }: CarryOutDeps) {
  if (!(await isStill(row, schedule, store))) return null
  const request = { id: backup, source: 'schedule', note: null, includeRebuildable: false }
  const input = { ...(kind === 'backup' ? { request } : { backup }), bySchedule: true }
  const accepted =
    row === null ? await acceptOwn(tx, store, input) : await acceptAlone(tx, store, row, asker, input, kind)
  if (accepted === null) return null
  const operationId = accepted.operation.id
  await tx.backupSchedules.put(
    row?.id ?? null,
    dueAt === null
      ? { ...schedule, lastVerified: backup }
      : { ...schedule, countsFrom: dueAt.toISOString(), lastOperation: operationId },
  )
  const changes = dueAt === null ? null : { ...request, dueAt: dueAt.toISOString() }
  const entry = byTheService({ ...actOn(row, kind === 'backup' ? 'create' : 'verify', backup), changes })
  await tx.audit.append({ ...entry, operationId })
  return accepted
}

/** Of the instance itself: not while one of before is still made. */
async function acceptOwn(tx: Transaction, store: Store, input: Readonly<Record<string, unknown>>) {
  const isMade = (await store.operations.unfinished()).some(
    ({ kind, project }) => kind === 'backup' && project === null,
  )
  if (isMade) return null
  return { operation: await queueOperation(tx, 'backup', null, asker, input), isNew: true, ends: [] }
}

function isBusy(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'busy'
}
