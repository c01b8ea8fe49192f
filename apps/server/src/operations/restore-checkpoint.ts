import { ProblemError } from '@stackquay/contract'
import { localFolders, spareBeforeRestore } from '@stackquay/domain'
import type { Outcome, StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { openCheckpoint } from '../checkpoints/checkpoint-settings.ts'
import { pauseAllSteps, runningOf } from './checkpoint.ts'
import { deadlines, findProject, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, noteInput, pausedBy, pauseWorkloads } from './paused.ts'
import { putCheckpointSteps } from './put-checkpoint.ts'
import { type Failures, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'
import { clearableStep, leaveHalfReplaced } from './replaced-folder.ts'
import { type CheckpointRequest, forgetCheckpoint, roomSteps, takeCheckpointSteps } from './take-checkpoint.ts'

export interface RestoreCheckpointInput {
  /** Id of the one that is put back. */
  readonly checkpoint: string
  /** What is replaced becomes this one. */
  readonly before: CheckpointRequest
  /** The settings that it replaces had been carried out, so they are again when they are put back. */
  readonly wasApplied: boolean
}

/**
 * Puts a whole project back: what is replaced becomes a checkpoint first, and what goes wrong until all is there puts that back. Cut off it
 * begins again, and replaces what is half done. A project that then does not start stays as it was at the checkpoint, with the way back.
 */
export function restoreCheckpoint(operation: ProjectOperation, deps: OperationDeps): Work {
  const input = operation.input as unknown as RestoreCheckpointInput
  const failures: Failures = []
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      () => beforeSteps(operation, input, roomSteps, deps),
      () => folderSteps(operation, input, deps),
      () => pauseAllSteps(operation, deps),
      () => beforeSteps(operation, input, takeCheckpointSteps, deps),
      () => putSteps(operation, input, deps),
      () => startSteps(operation, failures, deps),
    ],
    settle: async (outcome) => {
      const row = await deps.store.projects.find(operation.project)
      if (row === null) return
      const isThere = outcome.state !== 'cancelled' && (await noted(operation, 'restored', deps))
      if (isThere) await settleRestored(operation, input, outcome, failures, deps)
      else await settleUndone(operation, row, input, outcome, failures, deps)
    },
  }
}

async function noted({ id }: ProjectOperation, word: 'replacing' | 'restored', { store }: OperationDeps) {
  return (await store.operations.find(id))?.input[word] === true
}

/** Not of what is half replaced: an earlier attempt has made it then. */
async function beforeSteps(
  operation: ProjectOperation,
  { before }: RestoreCheckpointInput,
  steps: typeof takeCheckpointSteps,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  if (await noted(operation, 'replacing', deps)) return []
  return steps(operation.project, before, deps)
}

async function folderSteps(
  { project }: ProjectOperation,
  { checkpoint }: RestoreCheckpointInput,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const found = await deps.store.checkpoints.find(project, checkpoint)
  if (found === null || !found.parts.some(({ name }) => name === 'source')) return []
  const { without } = await openCheckpoint(project, found, deps.store)
  return [clearableStep(project, async () => [...without, ...localFolders], deps)]
}

async function putSteps(
  operation: ProjectOperation,
  { checkpoint }: RestoreCheckpointInput,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const { id, project } = operation
  const { store } = deps
  if (await noted(operation, 'restored', deps)) return []
  const found = await store.checkpoints.find(project, checkpoint)
  if (found === null) throw new ProblemError('not_found', 'The checkpoint is gone.')
  const begin: WorkStep = {
    id: 'begin',
    title: 'Begin to replace',
    run: () => noteInput(id, { replacing: true }, deps),
  }
  const steps = await putCheckpointSteps(project, found, deps, async (tx) => {
    const now = await store.operations.find(id)
    if (now !== null) await tx.operations.update(id, { input: { ...now.input, restored: true } })
  })
  return [begin, ...steps]
}

async function startSteps(
  { id, project }: ProjectOperation,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, project)
  if (row.desired === 'running') {
    const carries = (carried: ProjectRow) => deps.carries(id, carried)
    return reconcileSteps(project, { goal: 'running' }, failures, deps, carries)
  }
  const names = await pausedBy(id, deps)
  if (names.length === 0) return []
  return reconcileSteps(project, { goal: 'running', touched: async () => names }, failures, deps)
}

async function settleRestored(
  operation: ProjectOperation,
  { checkpoint }: RestoreCheckpointInput,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
): Promise<void> {
  const { id, project } = operation
  giveUpAfter(outcome, failures, deps)
  // Ended by something else than a program that does not start: what ran runs again. What does not is seen in the status.
  if (outcome.state === 'failed' && failures.length === 0)
    await bringBack(operation, { signal: forever, output: () => undefined }, deps).catch(() => undefined)
  await noteInput(id, { paused: [] }, deps)
  await deps.restartHolds.release(project)
  const known = await deps.store.checkpoints.of(project)
  // The one that was just put back is no spare one, even when it is the oldest.
  for (const spare of spareBeforeRestore(known))
    if (spare.id !== checkpoint) await forgetCheckpoint(project, spare.id, deps)
  await finish(project, deps)
}

async function settleUndone(
  operation: ProjectOperation,
  row: ProjectRow,
  { before, wasApplied }: RestoreCheckpointInput,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
): Promise<void> {
  const { store, restartHolds } = deps
  const context: StepContext = { signal: forever, output: () => undefined }
  if (await noted(operation, 'replacing', deps))
    await putBeforeBack(operation, before, context, deps).catch(async (error: unknown) => {
      await leaveHalfReplaced(row.id, deps)
      throw error
    })
  // Only now: until it was put back whole, it is all that there is of it.
  await forgetCheckpoint(row.id, before.id, deps)
  if (row.phase === 'deleting') return restartHolds.release(row.id)
  giveUpAfter(outcome, failures, deps)
  await bringBack(operation, context, deps)
  if (wasApplied)
    await store.transaction(async (tx) => {
      const now = await store.projects.find(row.id)
      if (now !== null) await tx.projects.carriedOut(row.id, now.generation, now.spec)
    })
  await finish(row.id, deps)
}

async function putBeforeBack(
  operation: ProjectOperation,
  { id }: CheckpointRequest,
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { project } = operation
  // What was started already is in the way.
  await pauseWorkloads(operation, await runningOf(project, deps), context, deps)
  const taken = await deps.store.checkpoints.find(project, id)
  if (taken === null) throw new ProblemError('internal_error', 'What was replaced is not there any more.')
  for (const step of await putCheckpointSteps(project, taken, deps)) await step.run(context)
  // Cut off from here on it begins as if it had not begun: with a checkpoint of what is there.
  await noteInput(operation.id, { replacing: false, restored: false }, deps)
}
