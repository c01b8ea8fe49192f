import type { Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { deadlines, finish, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, pauseWorkloads } from './paused.ts'
import { type CheckpointRequest, forgetCheckpoint, roomSteps, takeCheckpointSteps } from './take-checkpoint.ts'

export interface CheckpointInput {
  readonly request: CheckpointRequest
}

/** Keeps the whole project: all that runs stops, all is copied, all that ran runs again. It is there whole at the end, or nothing of it is. */
export function checkpoint(operation: ProjectOperation, deps: OperationDeps): Work {
  const { project, input } = operation
  const { request } = input as unknown as CheckpointInput
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      () => roomSteps(project, request, deps),
      () => pauseAllSteps(operation, deps),
      () => takeCheckpointSteps(project, request, deps),
    ],
    settle: async (outcome) => {
      const row = await deps.store.projects.find(project)
      if (row === null || row.phase === 'deleting') return deps.restartHolds.release(project)
      if (outcome.state !== 'succeeded') await forgetCheckpoint(project, request.id, deps)
      await bringBack(operation, { signal: forever, output: () => undefined }, deps)
      await finish(project, deps, { asKnown: true })
    },
  }
}

/** Everything of the project that runs: two databases that one program writes to are then copied at the same moment. */
export async function pauseAllSteps(operation: ProjectOperation, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const names = await runningOf(operation.project, deps)
  if (names.length === 0) return []
  const run: WorkStep['run'] = (context) => pauseWorkloads(operation, names, context, deps)
  return [{ id: 'pause', title: `Stop what runs: ${names.join(', ')}`, run }]
}

export async function runningOf(
  project: string,
  { engine }: Pick<OperationDeps, 'engine'>,
): Promise<readonly string[]> {
  const observed = await engine.observe(project, forever)
  return observed.filter(({ state }) => state === 'running' || state === 'waiting').map(({ ref }) => ref.workload)
}
