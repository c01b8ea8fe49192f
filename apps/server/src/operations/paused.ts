import { ProblemError } from '@stackquay/contract'
import { planProject } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import { engineSteps, type StepContext } from '@stackquay/orchestrator'
import type { ProjectOperation } from '@stackquay/store'
import type { OperationDeps } from './operation-deps.ts'

/*
 * Workloads that an operation stops for a while. Which ones is written down before the first of them stops: whatever becomes of the
 * operation and the service, those come back and no others.
 */

/** Requests to these, and to what uses them, wait; what is under way is answered; then they stop. */
export async function pauseWorkloads(
  operation: Pick<ProjectOperation, 'id' | 'project'>,
  names: readonly string[],
  { signal, output }: StepContext,
  deps: OperationDeps,
  /** `mayStay`: the operation itself makes that they can be started again, by another program. */
  { mayStay = false }: { readonly mayStay?: boolean } = {},
): Promise<void> {
  const { engine, model, reveal, restartHolds, observations } = deps
  const { project } = operation
  const observed = await engine.observe(project, signal)
  const isUp = ({ state }: Observed) => state === 'running' || state === 'waiting'
  const running = observed.filter((one) => isUp(one) && names.includes(one.ref.workload))
  if (running.length === 0) return
  const { workloads: wanted, unresolved } = (await model.renew(project)).resolved
  if (!mayStay) refuseStuck(running, unresolved)
  await remember(
    operation.id,
    running.map(({ ref }) => ref.workload),
    deps,
  )
  const held = observed.filter((one) => one.state === 'running' && (running.includes(one) || uses(one, running)))
  await restartHolds.hold(
    held.map(({ ref }) => ref),
    observed,
    signal,
  )
  const { changes } = planProject({ wanted, unresolved, observed, goal: 'stopped' })
  const stops = changes.filter((change) => change.type === 'stop' && names.includes(change.ref.workload))
  const applied = () => observations.outdate(project)
  for (const step of engineSteps(engine, stops, reveal, applied)) await step.run({ signal, output })
}

/** Those that were paused run again, and requests go on. Nothing is left to do the second time. */
export async function bringBack(
  operation: Pick<ProjectOperation, 'id' | 'project'>,
  { signal, output }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { engine, model, reveal, restartHolds, observations } = deps
  const { project } = operation
  const names = await pausedBy(operation.id, deps)
  if (names.length > 0) {
    const { workloads: wanted, unresolved } = (await model.renew(project)).resolved
    const observed = await engine.observe(project, signal)
    const goal = { goal: 'running', keepChanged: true, touches: names } as const
    const { changes } = planProject({ wanted, unresolved, observed, ...goal })
    const starts = changes.filter((change) => change.type === 'start')
    deps.watches.forget(project)
    const applied = () => observations.outdate(project)
    for (const step of engineSteps(engine, starts, reveal, applied)) await step.run({ signal, output })
    await remember(operation.id, [], deps)
    await observations.current(project)
  }
  await restartHolds.release(project)
}

export async function pausedBy(operation: string, { store }: Pick<OperationDeps, 'store'>): Promise<readonly string[]> {
  const paused = (await store.operations.find(operation))?.input.paused
  return Array.isArray(paused) ? (paused as string[]) : []
}

/** None for an empty list; else these besides those that are known. */
async function remember(operation: string, names: readonly string[], { store }: OperationDeps): Promise<void> {
  const before = names.length === 0 ? [] : await pausedBy(operation, { store })
  await noteInput(operation, { paused: [...new Set([...before, ...names])] }, { store })
}

/** What a later attempt of the operation must know. */
export async function noteInput(
  operation: string,
  more: Readonly<Record<string, unknown>>,
  { store }: Pick<OperationDeps, 'store'>,
): Promise<void> {
  await store.transaction(async (tx) => {
    const row = await store.operations.find(operation)
    if (row !== null) await tx.operations.update(operation, { input: { ...row.input, ...more } })
  })
}

/** Stopped for this it would stay down. */
function refuseStuck(running: readonly Observed[], unresolved: readonly string[]): void {
  const stuck = running.find(({ ref }) => unresolved.includes(ref.workload))
  if (stuck === undefined) return
  throw new ProblemError(
    'conflict',
    `${stuck.title ?? stuck.ref.workload} runs and could not be started again, so it is not stopped for this.`,
    { hint: 'Fix what the status of the project says, or stop it yourself; then try again.' },
  )
}

function uses(one: Observed, running: readonly Observed[]): boolean {
  return running.some(({ ref }) => one.dependsOn?.includes(ref.workload) === true)
}
