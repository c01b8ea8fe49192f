import { EngineError } from '@stackquay/engine-api'
import type { Outcome, Work } from '@stackquay/orchestrator'
import type { OperationRow } from '@stackquay/store'
import { deadlines, finish, type OperationDeps } from './operation-deps.ts'
import { type Failures, type Goal, giveUpAfter, reconcileSteps, stopNow } from './reconcile-steps.ts'

/** Start, stop, restart, and what the service does by itself to have things as they are wanted. */
export function startOrStop(operation: OperationRow, request: Goal, deps: OperationDeps): Work {
  const failures: Failures = []
  const { project } = operation
  const { workload, newerImages, unpinned } = operation.input as StartInput
  const only = workload === undefined ? {} : { only: workload }
  const newer = newerImages === true ? { newerImages } : {}
  return {
    deadlineSeconds: deadlines.long,
    stages: [() => reconcileSteps(project, { ...request, ...only, ...newer }, failures, deps)],
    settle: async (outcome) => {
      if (workload !== undefined && unpinned !== undefined && hasNoImage(outcome))
        await chooseBuild(project, workload, unpinned, deps)
      if (request.goal === 'running') await settleStart(project, outcome, failures, deps, workload)
      else {
        await deps.release(project)
        await finish(project, deps)
      }
    },
  }
}

/** A start that was cancelled is stopped again; what could not be started stays down, with the reason. */
export async function settleStart(
  project: string,
  outcome: Outcome,
  failures: Failures,
  deps: OperationDeps,
  only?: string,
): Promise<void> {
  const { store, restartHolds } = deps
  const wantStopped = () => store.transaction((tx) => tx.projects.setLifecycle(project, { desired: 'stopped' }))
  await restartHolds.letGo(project)
  giveUpAfter(outcome, failures, deps)
  if (outcome.state === 'cancelled') {
    if (only === undefined) await wantStopped()
    const left = await stopNow(project, only, deps)
    // One workload was to be started and nothing else runs: the project is as it was before.
    if (only !== undefined && !left.some((one) => one.state === 'running' || one.state === 'waiting'))
      await wantStopped()
  }
  await finish(project, deps)
}

/** What the input of a start, a restart or a stop may hold. */
interface StartInput {
  readonly workload?: string
  readonly newerImages?: boolean
  /** The choice of a build that this operation takes the place of. */
  readonly unpinned?: ChosenBuild
}

interface ChosenBuild {
  readonly reference: string
  readonly image: string | null
}

/** Back to the build that was chosen before, for the other one could not be had and nothing was replaced. */
async function chooseBuild(
  project: string,
  workload: string,
  { reference, image }: ChosenBuild,
  { store }: OperationDeps,
): Promise<void> {
  await store.transaction((tx) =>
    image === null
      ? tx.images.unpin(project, workload, reference)
      : tx.images.pin(project, { workload, reference, image }),
  )
}

function hasNoImage(outcome: Outcome): boolean {
  if (outcome.state === 'cancelled') return true
  return (
    outcome.state === 'failed' &&
    outcome.error instanceof EngineError &&
    (outcome.error.code === 'image_not_found' || outcome.error.code === 'image_unavailable')
  )
}
