import { type PlanRequest, planProject } from '@stackquay/domain'
import { type Change, EngineError, type Observed, type Workload, type WorkloadRef } from '@stackquay/engine-api'
import { engineSteps, type Outcome, type WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { prepareProject } from '../projects/prepare.ts'
import { straysOf } from '../projects/strays.ts'
import { forever, type OperationDeps } from './operation-deps.ts'
import { planSeeds, type SeedPlan } from './seed-steps.ts'
import { startHooks } from './start-hooks.ts'

/** Of which workloads a step failed, and why: what the supervisor is told when the operation has failed. */
export type Failures = { ref: WorkloadRef; error: unknown }[]

export type Goal = Partial<PlanRequest> &
  Pick<PlanRequest, 'goal'> & {
    /** Id of the operation for which the project’s hooks run before its programs start and after it. Absent: they do not. */
    readonly hooksOf?: string
    /** Runs when all is up and the requests that were held still wait; they go on when it has succeeded. */
    readonly gate?: WorkStep
    /** Asked for once it is known what is there: only these workloads are started or replaced. */
    touched?(row: ProjectRow, wanted: readonly Workload[], observed: readonly Observed[]): Promise<readonly string[]>
  }

/**
 * Looks at what is there, plans, and answers the engine's steps towards the goal; remembers of which workload a step
 * failed. `carries` hears which specification that is: what is changed from here on is another operation's.
 */
export async function reconcileSteps(
  project: string,
  { touched, hooksOf, gate, ...request }: Goal,
  failures: Failures,
  deps: OperationDeps,
  carries?: (row: ProjectRow) => void,
): Promise<readonly WorkStep[]> {
  const { model, engines, restartHolds } = deps
  const partly = touched !== undefined || request.keepChanged === true
  const known =
    request.goal === 'running' ? await prepareProject(project, deps, forever, { partly }) : await model.renew(project)
  const observed = await deps.observations.refresh(project)
  carries?.(known.row)
  const { workloads: wanted, unresolved } = known.resolved
  const touches = touched === undefined ? {} : { touches: await touched(known.row, wanted, observed) }
  const strays = request.goal === 'stopped' ? straysOf(engines.named(known.row.engine), project) : {}
  const planned = planProject({ wanted, unresolved, observed, ...strays, ...request, ...touches }).changes
  const hooks = startHooks({ id: hooksOf, project }, known, { changes: planned, goal: request.goal }, failures, deps)
  const { changes } = hooks
  const seeds = request.goal === 'running' ? await seedsOf(known.row, { changes, observed }, failures, deps) : noSeeds
  deps.watches.forget(project, request.only)
  const steps = restartHolds.around({ project, changes, wanted, observed }, (change) => [
    ...hooks.before(change),
    ...stepsOf(change, failures, deps),
    ...seeds.after(change).map((step) => ({ ...step, ...branchOf(change) })),
  ])
  const gates = gate === undefined ? [] : [letThrough(project, gate, deps)]
  return [...seeds.first, ...steps, ...gates, ...hooks.after]
}

function letThrough(project: string, gate: WorkStep, { restartHolds }: OperationDeps): WorkStep {
  return {
    ...gate,
    run: async (context) => {
      await gate.run(context)
      await restartHolds.release(project)
    },
  }
}

const noSeeds: SeedPlan = { first: [], after: () => [] }

function seedsOf(
  row: ProjectRow,
  stand: { readonly changes: readonly Change[]; readonly observed: readonly Observed[] },
  failures: Failures,
  deps: OperationDeps,
): Promise<SeedPlan> {
  const failed = (workload: string, error: unknown) => failures.push({ ref: { project: row.id, workload }, error })
  return planSeeds(row, stand, failed, deps)
}

/** The engine's steps for one change, which remember when they fail. */
export function stepsOf(change: Change, failures: Failures, deps: OperationDeps): readonly WorkStep[] {
  const ref = refOf(change)
  // Only so that the status is right early; who needs the answer looks for himself.
  const applied = () => deps.observations.refreshSoon(projectOf(change))
  return engineSteps(deps.engine, [change], deps.reveal, applied).map((step) => ({
    ...step,
    ...branchOf(change),
    run: async (context) => {
      try {
        await step.run(context)
      } catch (error) {
        if (ref !== null) failures.push({ ref, error })
        throw error
      }
    },
  }))
}

/** After an operation that failed: what could not be started stays down, with the reason. */
export function giveUpAfter(outcome: Outcome, failures: Failures, deps: Pick<OperationDeps, 'watches'>): void {
  if (outcome.state !== 'failed') return
  for (const { ref, error } of failures) {
    const reason = error instanceof Error ? error.message : String(error)
    const logTail = error instanceof EngineError ? error.logTail : []
    deps.watches.giveUp(ref, reason, logTail)
  }
}

/** Stops everything, or only one workload. Answers what is there afterwards. */
export async function stopNow(
  project: string,
  only: string | undefined,
  deps: OperationDeps,
): Promise<readonly Observed[]> {
  const { model, engine, engines, reveal } = deps
  const known = await model.renew(project)
  const observed = await deps.observations.refresh(project)
  const which = only === undefined ? {} : { only }
  const { workloads: wanted, unresolved } = known.resolved
  const strays = straysOf(engines.named(known.row.engine), project)
  const { changes } = planProject({ wanted, unresolved, observed, goal: 'stopped', ...strays, ...which })
  const context = { signal: AbortSignal.timeout(120_000), output: () => undefined }
  const { observations } = deps
  for (const step of engineSteps(engine, changes, reveal, () => observations.outdate(project))) await step.run(context)
  return observations.current(project)
}

/**
 * What only starts waits for what it depends on and for nothing else. What replaces something that runs is done one after the
 * other: requests are held meanwhile, and no longer than needed.
 */
function branchOf(change: Change): Pick<WorkStep, 'branch'> {
  if (change.type !== 'start') return {}
  const { ref, dependsOn } = change.workload
  return { branch: { name: ref.workload, after: dependsOn } }
}

function refOf(change: Change): WorkloadRef | null {
  switch (change.type) {
    case 'start':
    case 'replace':
      return change.workload.ref
    case 'stop':
    case 'remove':
    case 'job':
      return change.ref
    case 'deleteData':
    case 'strays':
      return null
    default:
      return change satisfies never
  }
}

function projectOf(change: Change): string {
  return refOf(change)?.project ?? ('project' in change ? change.project : '')
}
