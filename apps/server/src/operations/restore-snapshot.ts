import { type SnapshotSubject, snapshotSecret, spareBeforeRestore } from '@stackquay/domain'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { usersOfParts } from '../backups/project-parts.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, noteInput, pausedBy, pauseWorkloads } from './paused.ts'
import { dropData } from './put-back.ts'
import { type Failures, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'
import { secretTexts } from './secret-texts.ts'
import { forgetSnapshot, type SnapshotRequest, takeSnapshot } from './take-snapshot.ts'

export interface RestoreSnapshotInput {
  readonly subject: SnapshotSubject
  /** Id of the one that is put back. Null: nothing is, so it begins anew, with its seed. */
  readonly snapshot: string | null
  /** What is replaced becomes this one. */
  readonly before: SnapshotRequest
}

/**
 * Puts the data of a database back to a snapshot, or to its beginning: what is replaced becomes a snapshot first, and whatever goes wrong puts
 * that back. Cut off it begins again, and replaces what is half done.
 */
export function restoreSnapshot(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as RestoreSnapshotInput
  const failures: Failures = []
  const { title } = input.subject
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      () => pauseSteps(operation, input, deps),
      async () => [
        {
          id: 'before',
          title: `Keep ${title} as it is`,
          run: (context) => keepBefore(operation, input, context, deps),
        },
        {
          id: 'put',
          title: input.snapshot === null ? `Empty ${title}` : `Put ${title} back`,
          run: async (context) => {
            await noteInput(operation.id, { replacing: true }, deps)
            await putBack(operation.project, input.subject, input.snapshot, context, deps)
          },
        },
      ],
      () => startSteps(operation, failures, deps),
    ],
    settle: (outcome) =>
      outcome.state === 'succeeded'
        ? settleRestored(operation, input, deps)
        : settleUndone(operation, input, outcome, failures, deps),
  }
}

async function pauseSteps(
  operation: ProjectOperation,
  { subject }: RestoreSnapshotInput,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const names = await usersOf(operation.project, subject, deps)
  if (names.length === 0) return []
  const run: WorkStep['run'] = (context) => pauseWorkloads(operation, names, context, deps)
  return [{ id: 'pause', title: `Stop what uses it: ${names.join(', ')}`, run }]
}

async function usersOf(project: string, { part }: SnapshotSubject, deps: OperationDeps): Promise<readonly string[]> {
  const row = await findProject(deps.store, project)
  const { kinds } = (await deps.model.renew(row.id)).resolved
  return usersOfParts(row, [part], await deps.engine.observe(row.id, forever), kinds)
}

/** Data that was never made, or that an earlier attempt took away already, is not kept. */
async function keepBefore(
  operation: ProjectOperation,
  { subject, before }: RestoreSnapshotInput,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const row = await findProject(deps.store, operation.project)
  if ((await deps.store.operations.find(operation.id))?.input.replacing === true) return
  if (!(await deps.engine.dataNames(row.id, context.signal)).includes(subject.data)) return
  await takeSnapshot(operation, row, { subject, request: before }, context, deps)
}

/** In place of what is there. Its secrets go with it: the data knows the passwords that it was made with. */
export async function putBack(
  project: string,
  { data, part, type }: SnapshotSubject,
  snapshot: string | null,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { engine, store } = deps
  await dropData(project, data, context, deps)
  if (snapshot === null) return
  await engine.copyData({ project, name: snapshot }, { project, name: data }, {}, context.signal)
  const known = await store.snapshots.find(project, snapshot)
  const texts = await secretTexts(project, { id: part, type }, (name) => snapshotSecret(snapshot, name), store)
  await store.transaction(async (tx) => {
    for (const [name, text] of texts) await tx.secrets.put(project, name, text)
    if (part.startsWith('service:') && known?.version != null) await tx.keptData.writtenBy(project, data, known.version)
    // It is as it was, also where it was empty: no seed fills it.
    await tx.seeds.set(project, data, 'done')
  })
}

async function startSteps(
  { id, project }: ProjectOperation,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const names = await pausedBy(id, deps)
  if (names.length === 0) return []
  return reconcileSteps(project, { goal: 'running', touched: async () => names }, failures, deps)
}

async function settleRestored(
  { id, project }: ProjectOperation,
  { subject }: RestoreSnapshotInput,
  deps: OperationDeps,
): Promise<void> {
  await noteInput(id, { paused: [] }, deps)
  await deps.restartHolds.release(project)
  const known = (await deps.store.snapshots.of(project)).filter(({ data }) => data === subject.data)
  for (const spare of spareBeforeRestore(known)) await forgetSnapshot(project, spare.id, deps)
  await finish(project, deps)
}

async function settleUndone(
  operation: ProjectOperation,
  { subject, before }: RestoreSnapshotInput,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
): Promise<void> {
  const { store, restartHolds } = deps
  const row: ProjectRow | null = await store.projects.find(operation.project)
  if (row === null) return
  const context: StepContext = { signal: forever, output: () => undefined }
  const now = await store.operations.find(operation.id)
  if (now?.input.replacing === true) {
    await pauseWorkloads(operation, await usersOf(row.id, subject, deps), context, deps)
    if ((await store.snapshots.find(row.id, before.id)) === null) await dropData(row.id, subject.data, context, deps)
    else await putBack(row.id, subject, before.id, context, deps)
    // Cut off from here on it begins as if it had not begun: with a snapshot of what is there.
    await noteInput(operation.id, { replacing: false }, deps)
  }
  await forgetSnapshot(row.id, before.id, deps)
  if (row.phase === 'deleting') return restartHolds.release(row.id)
  giveUpAfter(outcome, failures, deps)
  await bringBack(operation, context, deps)
  await finish(row.id, deps)
}
