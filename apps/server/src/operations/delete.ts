import { join } from 'node:path'
import { planProject } from '@stackquay/domain'
import { removeGivenFolder } from '@stackquay/engines'
import { engineSteps, type Outcome, type Work, type WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { deletions } from '../projects/removals.ts'
import { straysOf } from '../projects/strays.ts'
import { asideStep, itemOf } from '../trash/set-aside.ts'
import { undoDeletion } from '../trash/settle-items.ts'
import { deadlines, finish, forever, forgetProject, type OperationDeps } from './operation-deps.ts'

/** Ends all that runs of a project, moves its data to the trash or deletes it when that was asked for, and forgets it. */
export function deleteProject(operation: ProjectOperation, deps: OperationDeps): Work {
  const { project } = operation
  return {
    deadlineSeconds: deadlines.short,
    stages: [
      // First, so that nothing that people started still uses what is stopped and deleted.
      () => commandSteps(project, deps),
      () => removeSteps(project, deps),
      () => dataSteps(operation, deps),
    ],
    settle: (outcome) => settle(operation, outcome, deps),
  }
}

async function commandSteps(project: string, { runs, terminals }: OperationDeps): Promise<readonly WorkStep[]> {
  if (!(await runs.holdsAny(project, forever))) return []
  const run: WorkStep['run'] = async ({ signal }) => {
    await runs.endAll(project, signal)
    // While their project is there: with it they are gone, and nothing would say that they were closed.
    await terminals.settleAll(project)
  }
  return [{ id: 'commands', title: 'End runs and terminals', run }]
}

async function removeSteps(project: string, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const row = await deps.store.projects.find(project)
  // The creation that was cancelled for this left nothing.
  if (row === null) return []
  const observed = await deps.observations.refresh(project)
  const strays = straysOf(deps.engines.named(row.engine), row.id, { commands: true })
  const { changes } = planProject({ wanted: [], observed, goal: 'stopped', ...strays })
  return engineSteps(deps.engine, changes, deps.reveal, () => deps.observations.outdate(project))
}

async function dataSteps(operation: ProjectOperation, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const { project, input } = operation
  const { store, engine, reveal, observations } = deps
  const row = await store.projects.find(project)
  if (row === null) return []
  const data = input.data === 'delete' ? await engine.dataNames(project, forever) : []
  const snapshots = await store.snapshots.of(project)
  // A creation that was cancelled for this made nothing that anybody could want back.
  if (input.purge === true || row.phase === 'creating') {
    const changes = deletions(project, data, snapshots)
    return engineSteps(engine, changes, reveal, () => observations.outdate(project))
  }
  const item = await itemOf(operation, row, { kind: 'project', name: row.slug, data }, deps)
  return item.data.map(({ name }) => asideStep(item, name, deps, snapshots))
}

async function settle(operation: ProjectOperation, outcome: Outcome, deps: OperationDeps): Promise<void> {
  const { store, config, engine, runs } = deps
  const row = await store.projects.find(operation.project)
  if (row === null) return
  const [item] = await store.trash.ofOperation(operation.id)
  if (outcome.state === 'succeeded') {
    // What cannot be removed now is swept by the next start.
    await removeGivenFolder(join(config.home, 'tools', row.id)).catch(() => undefined)
    // What cannot be forgotten now is found to be nobody's by the next start.
    await runs.forgetAll(row.id, forever).catch(() => undefined)
    await engine.removeLogs(row.id, AbortSignal.timeout(60_000))
    await forgetProject(row, deps, item)
    // Files in the trash are still its user's.
    if (item === undefined) await deps.retire(row)
    else await deps.leave(row)
  } else {
    // What cannot be put back now is put back by the next look at the trash.
    if (item !== undefined) await undoDeletion(item, deps).catch(() => undefined)
    await store.transaction((tx) => tx.projects.setLifecycle(row.id, { phase: 'ready' }))
    await finish(row.id, deps)
  }
}
