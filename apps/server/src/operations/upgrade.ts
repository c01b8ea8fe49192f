import { type DatabaseVersion, isOfService, type VersionChange } from '@stackquay/domain'
import type { StepContext, Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import { workloadOf } from '../upgrades/upgrade-plan.ts'
import { carryOutActs } from './carry-out-acts.ts'
import { deadlines, findProject, forever, type OperationDeps } from './operation-deps.ts'
import { bringBack, pausedBy } from './paused.ts'
import { type Failures, giveUpAfter, reconcileSteps, stopNow } from './reconcile-steps.ts'
import type { TakenBackup } from './take-backup.ts'
import { backupSteps, pauseSteps } from './upgrade-before.ts'
import { convertStages } from './upgrade-convert.ts'
import { serviceStages } from './upgrade-service.ts'
import { noteStage, refuseUndone, stageOf, undoVersion } from './upgrade-undo.ts'

/** A change of the version of a database or a service, as its operation keeps it. */
export type UpgradeRequest<Change extends VersionChange = VersionChange> = Change & {
  /** Id that the backup of what is there gets, or has: a second attempt makes no second one. */
  readonly before: string
}

/**
 * Makes the data of databases and services that of other release lines, then carries the rest of the change out. Until a server of the new line runs on
 * it, the specification, the program and the data of the old one can come back, and do whatever goes wrong. Cut off it goes on, or begins again.
 */
export function upgrade(operation: ProjectOperation, deps: OperationDeps): Work {
  const versions = operation.input.versions as readonly UpgradeRequest[]
  const failures: Failures = []
  const taken: TakenBackup[] = []
  const rest = carryOutActs(operation, deps)
  return {
    deadlineSeconds: deadlines.day,
    stages: [
      ...versions.flatMap((change) => stagesOf({ operation, change, failures, taken }, deps)),
      () => startSteps(operation, failures, deps),
      ...rest.stages,
    ],
    settle: async (outcome) => {
      for (const backup of taken) await backup.abandon()
      const row = await deps.store.projects.find(operation.project)
      if (row === null || row.phase === 'deleting') return deps.restartHolds.release(operation.project)
      const context: StepContext = { signal: forever, output: () => undefined }
      for (const change of versions) await undoVersion(operation, change, context, deps)
      giveUpAfter(outcome, failures, deps)
      await bringBack(operation, context, deps)
      await rest.settle(outcome)
    },
  }
}

export interface Upgrading<Change extends VersionChange = VersionChange> {
  readonly operation: ProjectOperation
  readonly change: UpgradeRequest<Change>
  readonly failures: Failures
  readonly taken: TakenBackup[]
}

/** None of the steps that an attempt before did for good. */
function stagesOf({ change, ...rest }: Upgrading, deps: OperationDeps): Work['stages'] {
  const { operation } = rest
  const unless = (isDone: readonly string[], steps: () => Promise<readonly WorkStep[]>) => async () => {
    const stage = await stageOf(operation.id, change, deps)
    refuseUndone(stage, change)
    return stage !== null && isDone.includes(stage) ? [] : steps()
  }
  if (isOfService(change)) return serviceStages({ ...rest, change }, deps, unless)
  const upgrading = { ...rest, change }
  const carried = ['carried', 'exchanged', 'proven']
  return [
    unless(['exchanged', 'proven'], () => pauseSteps(upgrading, deps)),
    unless(carried, () => backupSteps(upgrading, deps)),
    ...convertStages(
      upgrading,
      deps,
      (steps) => unless(carried, steps),
      (steps) => unless(['exchanged', 'proven'], steps),
    ),
    unless(['proven'], () => proveSteps(upgrading, deps)),
    ...finishStages(upgrading, deps),
  ]
}

/** The server runs on the data: from here on what is written to it counts. */
async function proveSteps(
  { operation, change, failures }: Upgrading<DatabaseVersion>,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const { project, id } = operation
  const row = await findProject(deps.store, project)
  const workload = workloadOf(row, change)
  const steps = await reconcileSteps(project, { goal: 'running', only: workload }, failures, deps)
  const prove: WorkStep = {
    id: 'prove',
    title: `Version ${change.to} runs`,
    run: () => noteStage(id, change, 'proven', deps),
  }
  return [...steps, prove]
}

/** What did not run before does not run after it. */
function finishStages({ operation, change }: Upgrading<DatabaseVersion>, deps: OperationDeps): Work['stages'] {
  const stop = async (): Promise<readonly WorkStep[]> => {
    const workload = workloadOf(await findProject(deps.store, operation.project), change)
    const paused = await pausedBy(operation.id, deps)
    const observed = await deps.engine.observe(operation.project, forever)
    const ran = observed.filter(({ ref }) => ref.workload === workload)
    if (paused.includes(workload) || ran.length === 0) return []
    const run = async () => void (await stopNow(operation.project, workload, deps))
    return [{ id: 'stop', title: 'Stop it: it did not run before', run }]
  }
  return [stop]
}

async function startSteps({ id, project }: ProjectOperation, failures: Failures, deps: OperationDeps) {
  const names = await pausedBy(id, deps)
  if (names.length === 0) return []
  return reconcileSteps(project, { goal: 'running', touched: async () => names }, failures, deps)
}
