import { type Act, goalOf, startsAll, stopsAll, type Unpinned } from '@stackquay/domain'
import { EngineError } from '@stackquay/engine-api'
import type { Outcome, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { actsOf } from '../projects/accept.ts'
import { leftBehind } from '../projects/left-behind.ts'
import { holdRequests, isToSleep } from './fall-asleep.ts'
import { deadlines, findProject, finish, type OperationDeps } from './operation-deps.ts'
import { type Failures, type Goal, giveUpAfter, reconcileSteps, stopNow } from './reconcile-steps.ts'

/**
 * Brings the project to what is wanted now, act by act: what changed, then what was asked to start, restart or stop. What is asked
 * for from here on is carried out by the operation after this one.
 */
export function carryOutActs(operation: ProjectOperation, deps: OperationDeps): Work {
  const failures: Failures = []
  const { project } = operation
  const acts = actsOf(operation)
  return {
    deadlineSeconds: deadlines.long,
    stages: acts.flatMap((act) => stagesOfAct(operation, act, failures, deps)),
    settle: async (outcome) => {
      if (hasNoImage(outcome)) await chooseBuildsBefore(project, acts, deps)
      await deps.restartHolds.release(project)
      giveUpAfter(outcome, failures, deps)
      if (outcome.state === 'cancelled') await settleCancelled(operation, acts, deps)
      if (stopsAll(acts)) await deps.release(project)
      await finish(project, deps, { asKnown: outcome.state === 'succeeded' && isSettled(project, deps) })
    },
  }
}

/** Nothing stands in its way that may be gone now, and it has no images, whose builds are chosen while it is started. */
function isSettled(project: string, { model, engines }: OperationDeps): boolean {
  const known = model.find(project)
  if (known === null || known.resolved.errors.length > 0) return false
  return engines.named(known.row.engine)?.capabilities.images === false
}

type Stage = Work['stages'][number]

function stagesOfAct(operation: ProjectOperation, act: Act, failures: Failures, deps: OperationDeps): readonly Stage[] {
  const main = () => stepsOfAct(operation, act, failures, deps)
  if (act.do !== 'sleep') return [main]
  const { project } = operation
  return [async () => [holdRequests(project, act, deps)], async () => ((await isToSleep(project, deps)) ? main() : [])]
}

async function stepsOfAct(
  operation: ProjectOperation,
  act: Act,
  failures: Failures,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const steps = (goal: Goal, carries: boolean) =>
    reconcileSteps(
      operation.project,
      { ...goal, hooksOf: operation.id },
      failures,
      deps,
      carries ? (row) => deps.carries(operation.id, row) : undefined,
    )
  switch (act.do) {
    case 'update': {
      const goal = goalOf((await findProject(deps.store, operation.project)).desired)
      if (act.touches === undefined) return steps({ goal }, true)
      const touched = async (...now: Parameters<NonNullable<Goal['touched']>>) => [
        ...(act.touches ?? []),
        ...(await leftBehind(...now, deps.store)),
      ]
      return steps({ goal, touched }, true)
    }
    case 'reconcile': {
      const goal = goalOf((await findProject(deps.store, operation.project)).desired)
      return steps({ goal, keepChanged: true }, false)
    }
    case 'sleep':
      return steps({ goal: 'stopped' }, true)
    case 'start':
    case 'restart':
    case 'wake': {
      const only = act.workload === undefined ? {} : { only: act.workload }
      const newer = act.newerImages === true ? { newerImages: true } : {}
      return steps({ goal: 'running', restart: act.do === 'restart', ...only, ...newer }, act.workload === undefined)
    }
    case 'stop':
      return steps(
        { goal: 'stopped', ...(act.workload === undefined ? {} : { only: act.workload }) },
        act.workload === undefined,
      )
    default:
      return act satisfies never
  }
}

/** What was being started is stopped again. A change of settings stays, and is not applied. */
async function settleCancelled(operation: ProjectOperation, acts: readonly Act[], deps: OperationDeps): Promise<void> {
  const { project, kind } = operation
  const broughtUp = startsAll(acts) || kind === 'reconcile'
  if (broughtUp) return stopAfterCancel(project, deps)
  for (const act of acts) {
    if ((act.do !== 'start' && act.do !== 'restart') || act.workload === undefined) continue
    const left = await stopNow(project, act.workload, deps)
    // One workload was to be started and nothing else runs: the project is as it was before.
    if (!left.some((one) => one.state === 'running' || one.state === 'waiting')) await wantStopped(project, deps)
  }
}

/** A start that was cancelled is stopped again, also when another one waits: that may be cancelled too. */
export async function stopAfterCancel(project: string, deps: OperationDeps): Promise<void> {
  await wantStopped(project, deps)
  await stopNow(project, undefined, deps)
}

/** Unless an operation waits that brings all up again. */
async function wantStopped(project: string, { store }: OperationDeps): Promise<void> {
  await store.transaction(async (tx) => {
    const waiting = (await store.operations.unfinishedOf(project)).filter(({ state }) => state === 'queued')
    if (!waiting.some((operation) => operation.kind !== 'delete' && startsAll(actsOf(operation))))
      await tx.projects.setLifecycle(project, { desired: 'stopped' })
    // Cancelled too, it leaves what this one left.
    for (const { id, input } of waiting)
      if (input.desiredBefore !== undefined)
        await tx.operations.update(id, { input: { ...input, desiredBefore: 'stopped' } })
  })
}

/** Back to the builds that were chosen before, for the other ones could not be had and nothing was replaced. */
async function chooseBuildsBefore(project: string, acts: readonly Act[], { store }: OperationDeps): Promise<void> {
  const choices = acts.flatMap((act): readonly Unpinned[] => (act.do === 'restart' ? (act.unpinned ?? []) : []))
  if (choices.length === 0) return
  await store.transaction(async (tx) => {
    for (const { workload, reference, image } of choices) {
      if (image === null) await tx.images.unpin(project, workload, reference)
      else await tx.images.pin(project, { workload, reference, image })
    }
  })
}

function hasNoImage(outcome: Outcome): boolean {
  if (outcome.state === 'cancelled') return true
  return (
    outcome.state === 'failed' &&
    outcome.error instanceof EngineError &&
    (outcome.error.code === 'image_not_found' || outcome.error.code === 'image_unavailable')
  )
}
