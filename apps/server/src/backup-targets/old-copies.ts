import { problemOf } from '@stackquay/contract'
import { expiredCopies, type TargetCopy } from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import { type BackupTargetRow, byTheService, type NewAuditEntry, newId, type Store } from '@stackquay/store'
import { type Copier, type CopyIndex, TargetError } from '@stackquay/targets'
import type { CopiedArchive } from '../backups/copied-archive.ts'
import type { Backups } from '../backups/open-backups.ts'
import { actOn, type Subject } from '../backups/scheduled-subject.ts'
import { targetProblem } from '../http/target-problem.ts'

export interface OldCopyDeps {
  readonly row: BackupTargetRow
  readonly opened: Copier
  readonly context: Pick<StepContext, 'signal' | 'output'>
  readonly store: Store
  readonly backups: Backups
  readonly now: () => Date
}

/** What copies of this instance are known by on targets, also of its state when that is restored elsewhere. */
export async function copierId({ instance, transaction }: Pick<Store, 'instance' | 'transaction'>): Promise<string> {
  const known = await instance.get('copier')
  if (known !== null) return known
  const id = newId('ins')
  await transaction((tx) => tx.instance.set('copier', id))
  return id
}

/**
 * Removes what deletions that were interrupted and copies that were given up left on the target; not of `copying`, which goes on with it.
 * What cannot be removed is told, and is no reason to copy nothing.
 */
export async function removeLeftovers(copying: string, deps: OldCopyDeps): Promise<void> {
  const { row, opened, context, store } = deps
  for (const backup of await store.backupTargets.leftovers(row.id)) {
    const isLeft = backup === copying || (await tried(deps, () => opened.removeLeftover(backup, context.signal)))
    if (!isLeft) return
    await store.transaction((tx) => tx.backupTargets.forgetLeftover(row.id, backup))
  }
}

/**
 * Removes pieces on the target that nobody turns into a copy any more: those of an instance that was lost. After the copy of `copied`, from
 * which their age is told.
 */
export async function removeAbandoned({ id, subject }: CopiedArchive, deps: OldCopyDeps): Promise<void> {
  const { row, opened, context, store } = deps
  let removed = 0
  await tried(deps, async () => {
    removed = await opened.removeAbandoned(id, context.signal)
  })
  if (removed === 0) return
  const copies = removed === 1 ? 'a copy' : `${removed} copies`
  context.output({ stream: 'stdout', text: `Removed the pieces of ${copies} that nobody has finished for a week.\n` })
  const changes = { target: row.id, name: row.name, unfinished: removed }
  await store.transaction((tx) => tx.audit.append(byTheService({ ...actOn(subject, 'copy.delete'), changes })))
}

/**
 * Deletes what the schedule keeps no longer, after the copy of `copied` was read back. A target that does not let anything be deleted
 * is told, in the operation, the schedule, diagnostics and the audit log; the copy is as complete as it is.
 */
export async function deleteOldCopies(copied: CopiedArchive, instance: string, deps: OldCopyDeps): Promise<void> {
  const { row, opened, context, store } = deps
  const schedule = await store.backupSchedules.of(copied.subject?.id ?? null)
  const scheduled = schedule?.targets.find(({ target }) => target === row.id)
  if (schedule == null || scheduled === undefined) return
  const { keepOnTargets: keep, timezone, keepSetAt } = schedule
  if (keep === null) return noteProblem(copied.subject, null, deps)
  let problem: string | null = null
  await tried(
    deps,
    async () => {
      const indexes = (await opened.list(context.signal)).found
      const project = copied.subject?.id ?? null
      const found = foundBy(deps.backups, scheduled.lastWhole?.id ?? null)
      const rule = { keep, timezone, keepSetAt, project, instance, found }
      const wanted = await fetched(row.id, store)
      for (const id of expiredCopies(indexes.flatMap(copyOf), copied, rule, deps.now()))
        if (!wanted.has(id)) await deleteCopy(id, byTheService(entryOf(copied.subject, id, row)), deps)
    },
    (error) => {
      problem = `${problemOf(targetProblem(error)).title}.`
    },
  )
  await noteProblem(copied.subject, problem, deps)
}

/**
 * Crash-safe: it is written down before the index goes, and without an index the pieces are no backup. What a kill leaves of them the
 * next copy removes.
 */
export async function deleteCopy(
  backup: string,
  entry: NewAuditEntry | null,
  { row, opened, context, store, backups }: Omit<OldCopyDeps, 'now'>,
): Promise<void> {
  await store.transaction((tx) => tx.backupTargets.putLeftover(row.id, backup))
  await opened.remove(backup, context.signal)
  await store.transaction(async (tx) => {
    await tx.backupTargets.forgetLeftover(row.id, backup)
    await tx.backupTargets.forgetCopy(row.id, backup)
    if (entry !== null) await tx.audit.append(entry)
    await tx.events.append({ type: 'backup-target.changed', project: null, data: { id: row.id } })
  })
  backups.copies.forget(row.id, backup)
}

function entryOf(subject: Subject, backup: string, { id, name }: BackupTargetRow) {
  return { ...actOn(subject, 'copy.delete', backup), changes: { target: id, name } }
}

/** Whether it went. A target that does not do it is told; all else ends the operation. */
async function tried(
  { context: { output, signal } }: Pick<OldCopyDeps, 'context'>,
  act: () => Promise<void>,
  onProblem: (error: TargetError) => void = () => undefined,
): Promise<boolean> {
  try {
    await act()
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof TargetError)) throw error
    output({ stream: 'stderr', text: `Old copies could not be deleted. ${error.message}\n` })
    onProblem(error)
    return false
  }
}

/** Copies that wait to be fetched stay until then. */
async function fetched(target: string, { operations }: Store): Promise<ReadonlySet<unknown>> {
  const fetches = (await operations.unfinished()).filter(
    ({ kind, input }) => kind === 'fetch-backup' && input.target === target,
  )
  return new Set(fetches.map(({ input }) => input.backup))
}

/** A manifest that no version of this one wrote says nothing that a rule could go by. */
function copyOf({ id, instance, bySchedule, manifest }: CopyIndex): readonly TargetCopy[] {
  const { createdAt, source, project } = (manifest ?? {}) as {
    readonly createdAt?: unknown
    readonly source?: unknown
    readonly project?: { readonly id?: unknown }
  }
  if (typeof createdAt !== 'string' || typeof source !== 'string') return []
  const of = project === undefined ? null : String(project.id)
  return [{ id, createdAt, project: of, source, instance, bySchedule }]
}

/** What is known of backups that are here, and which one the schedule remembers as whole. */
function foundBy({ known }: Backups, lastWhole: string | null) {
  return (id: string) => {
    const outcome = known.find(id)?.verified?.outcome
    if (outcome === 'faulty') return 'faulty'
    return outcome === 'whole' || id === lastWhole ? 'whole' : null
  }
}

/** For the schedule, diagnostics and, when it is new, the audit log. */
async function noteProblem(subject: Subject, keepProblem: string | null, { row, store }: OldCopyDeps): Promise<void> {
  const project = subject?.id ?? null
  await store.transaction(async (tx) => {
    const schedule = await store.backupSchedules.of(project)
    const before = schedule?.targets.find(({ target }) => target === row.id)
    if (schedule == null || before === undefined || before.keepProblem === keepProblem) return
    const targets = schedule.targets.map((one) => (one === before ? { ...one, keepProblem } : one))
    await tx.backupSchedules.put(project, { ...schedule, targets })
    if (keepProblem === null) return
    const changes = { target: row.id, name: row.name, problem: keepProblem }
    await tx.audit.append(byTheService({ ...actOn(subject, 'copy.delete'), outcome: 'failure', changes }))
  })
}
