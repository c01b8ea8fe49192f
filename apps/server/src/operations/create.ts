import { hasCron } from '@stackquay/domain'
import { engineSteps, type Outcome, type Work, type WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation, ProjectRow } from '@stackquay/store'
import { stopAfterCancel } from './carry-out-acts.ts'
import { copyDataSteps } from './copy-data.ts'
import { makeSource } from './make-source.ts'
import { deadlines, findProject, finish, forever, forgetProject, type OperationDeps } from './operation-deps.ts'
import { readSource } from './read-source.ts'
import { type Failures, giveUpAfter, reconcileSteps } from './reconcile-steps.ts'

/** Brings the files of a new project or a copy, learns what it is, and starts it when that was asked for. */
export function create(operation: ProjectOperation, deps: OperationDeps): Work {
  const { store } = deps
  const failures: Failures = []
  const id = operation.project
  return {
    deadlineSeconds: deadlines.long,
    stages: [
      async () => {
        const row = await findProject(store, id)
        if (row.phase === 'ready') return []
        return [makeSource(row, deps), ...copyDataSteps(row, operation, deps), readSource(row, deps)]
      },
      () => startCreated(operation, failures, deps),
    ],
    settle: (outcome) => settleCreation(id, outcome, failures, deps),
  }
}

/** Starts a new project, when that was asked for and it has something to run. */
export async function startCreated(
  { id: hooksOf, project: id }: ProjectOperation,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const row = await findProject(deps.store, id)
  if (row.desired !== 'running') return []
  const known = await deps.model.renew(id)
  if (known.resolved.workloads.length === 0 && known.resolved.errors.length === 0) return []
  return reconcileSteps(id, { goal: 'running', hooksOf }, failures, deps)
}

/** What failed before there were files leaves nothing of the project. */
export async function settleCreation(
  id: string,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
): Promise<void> {
  const { store, sources, model } = deps
  const row = await store.projects.find(id)
  if (row === null) return
  if (row.phase === 'creating' && outcome.state !== 'succeeded') return undo(row, deps)
  await sources.keep(row)
  if (row.desired === 'running') {
    const { workloads, errors } = (await model.renew(id)).resolved
    if (workloads.length + errors.length === 0 && !hasCron(row.spec))
      await store.transaction((tx) => tx.projects.setLifecycle(id, { desired: 'stopped' }))
  }
  await deps.restartHolds.release(id)
  giveUpAfter(outcome, failures, deps)
  if (outcome.state === 'cancelled') await stopAfterCancel(id, deps)
  await finish(id, deps, { asKnown: true })
}

/** A creation that failed before there was a source leaves nothing. */
async function undo(row: ProjectRow, deps: OperationDeps): Promise<void> {
  const { sources, engine, reveal, observations } = deps
  const applied = () => observations.outdate(row.id)
  await sources.undo(row)
  for (const name of await engine.dataNames(row.id, forever)) {
    for (const step of engineSteps(engine, [{ type: 'deleteData', project: row.id, data: name }], reveal, applied)) {
      await step.run({ signal: AbortSignal.timeout(60_000), output: () => undefined })
    }
  }
  await engine.removeLogs(row.id, AbortSignal.timeout(60_000))
  await forgetProject(row, deps)
  await deps.retire(row)
}
