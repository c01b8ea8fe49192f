import { ProblemError } from '@stackquay/contract'
import { goalOf, type ServiceVersion, serviceTypeIn, withVersionsOf } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { Work, WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { findProject, forever, type OperationDeps } from './operation-deps.ts'
import { pausedBy } from './paused.ts'
import { reconcileSteps } from './reconcile-steps.ts'
import type { Upgrading as UpgradingOf } from './upgrade.ts'
import { backupSteps, pauseSteps } from './upgrade-before.ts'
import { noteStage, setVersion } from './upgrade-undo.ts'

type Upgrading = UpgradingOf<ServiceVersion>
type Unless = (isDone: readonly string[], steps: () => Promise<readonly WorkStep[]>) => Work['stages'][number]

/**
 * A service converts its data by itself when its program of the other line starts, and what it wrote then only that line reads. So the
 * specification names that line from the moment on in which the backup is there, and no start runs it before.
 */
export function serviceStages(upgrading: Upgrading, deps: OperationDeps, unless: Unless): Work['stages'] {
  const exchanged = ['exchanged', 'proven']
  return [
    unless(exchanged, () => fetchSteps(upgrading, deps)),
    unless(exchanged, () => pauseSteps(upgrading, deps)),
    unless(exchanged, () => backupSteps(upgrading, deps)),
    unless(exchanged, async () => [exchangeStep(upgrading, deps)]),
    unless(['proven'], () => proveSteps(upgrading, deps)),
  ]
}

/** What cannot be had must not be missed when all stands still. */
async function fetchSteps({ operation, change }: Upgrading, deps: OperationDeps): Promise<readonly WorkStep[]> {
  const { engine, reveal } = deps
  const row = await findProject(deps.store, operation.project)
  const isUp = (await engine.observe(row.id, forever)).some((one) => isUpNow(one, change))
  if (!isUp && goalOf(row.desired) !== 'running') return []
  const { workloads } = await deps.resolver.resolve({ ...row, spec: withVersionsOf(row.spec, [change], 'to') })
  const workload = workloads.find(({ ref }) => ref.workload === change.service)
  if (workload === undefined) throw notHere(row, change)
  return engine
    .plan({ type: 'start', workload })
    .filter((step) => step.do === 'pull')
    .map((step) => ({
      id: step.id,
      title: step.title,
      run: ({ signal, output }) => engine.apply(step, { signal, output, reveal }),
    }))
}

function exchangeStep({ operation, change }: Upgrading, deps: OperationDeps): WorkStep {
  return {
    id: 'exchange',
    title: `Use version ${change.to}`,
    run: () => setVersion(operation, change, 'to', deps, 'exchanged'),
  }
}

/** It runs on the data: from here on what is written to it counts. Where nothing is to run, its next start opens it. */
async function proveSteps(
  { operation, change, failures }: Upgrading,
  deps: OperationDeps,
): Promise<readonly WorkStep[]> {
  const { project, id } = operation
  const row = await findProject(deps.store, project)
  const starts = goalOf(row.desired) === 'running' || (await pausedBy(id, deps)).includes(change.service)
  const goal = { goal: 'running', touched: async () => [change.service] } as const
  const steps = starts ? await reconcileSteps(project, goal, failures, deps) : []
  const prove: WorkStep = {
    id: 'prove',
    title: starts ? `Version ${change.to} runs` : `Version ${change.to} is for its next start`,
    run: async ({ signal }) => {
      const runs = !starts || (await deps.engine.observe(project, signal)).some((one) => isUpNow(one, change))
      if (!runs) throw notHere(row, change)
      await noteStage(id, change, 'proven', deps)
    },
  }
  return [...steps, prove]
}

function isUpNow({ ref, state }: Observed, { service }: ServiceVersion): boolean {
  return ref.workload === service && (state === 'running' || state === 'waiting')
}

function notHere({ spec }: ProjectRow, { service, from, to }: ServiceVersion): ProblemError {
  const label = serviceTypeIn(spec, service)?.label ?? service
  return new ProblemError('unavailable_here', `${label} ${to} cannot be started here.`, {
    hint: `Its data is still that of ${from}. See what the status of the project says, then try again.`,
  })
}
