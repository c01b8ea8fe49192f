import { ProblemError } from '@stackquay/contract'
import { goalOf, planProject, stopsAll } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { Observations, Orchestrator } from '@stackquay/orchestrator'
import type { OperationRow, Store } from '@stackquay/store'
import { acceptAct, actsOf, begin, isQuiet } from '../projects/accept.ts'
import type { Model } from '../projects/model.ts'
import type { RestartHolds } from '../projects/restart-holds.ts'

/** What was being restarted when the service ended is down and comes back: requests go on waiting for it. */
export async function holdInterrupted({
  store,
  model,
  observations,
  restartHolds,
}: Reconciling & { readonly restartHolds: RestartHolds }): Promise<void> {
  for (const { kind, project } of await store.operations.unfinished()) {
    const known = project === null ? null : model.find(project)
    if (project === null || known === null || known.row.desired !== 'running' || !holding.includes(kind)) continue
    const isUp = ({ state, health }: Observed) => state === 'running' && health !== 'starting'
    const up = observations.of(project).filter(isUp)
    const down = known.resolved.workloads.filter(({ ref }) => !up.some((one) => one.ref.workload === ref.workload))
    restartHolds.goOn(down.map(({ ref }) => ref))
  }
}

/** They stop what runs and start it again. */
const holding: readonly OperationRow['kind'][] = [
  'restart',
  'update',
  'backup',
  'restore',
  'import',
  'snapshot',
  'restore-snapshot',
  'clone',
  'checkpoint',
  'restore-checkpoint',
  'reset',
  'pull',
  'git',
  'deploy',
]

/** Goes on with operations that a crash interrupted, and starts or stops what is not as it should be. */
export async function resumeOperations(deps: Reconciling): Promise<void> {
  const { store, model, orchestrator } = deps
  const begun = { model, orchestrator }
  const unfinished = await store.operations.unfinished()
  for (const operation of [...unfinished].sort(inTurn)) begin({ operation, isNew: true, ends: [] }, begun)
  for (const operation of unfinished) {
    // It was asked to end just before the service did.
    const endsIt = (other: OperationRow) =>
      other.project !== null &&
      other.project === operation.project &&
      other.state === 'queued' &&
      (other.kind === 'delete' || (stopsAll(actsOf(other)) && !stopsAll(actsOf(operation)) && !isQuiet(operation)))
    if (operation.state === 'running' && unfinished.some(endsIt)) orchestrator.cancel(operation.id)
  }
  await reconcile(deps)
}

/** What had begun goes on before what waited for it. */
function inTurn(one: OperationRow, other: OperationRow): number {
  if (one.state !== other.state) return one.state === 'running' ? -1 : 1
  return one.id < other.id ? -1 : 1
}

export interface Reconciling {
  readonly store: Store
  readonly model: Model
  readonly observations: Observations
  readonly orchestrator: Orchestrator
}

/** Starts or stops what is not as it should be. What cannot be looked at is left alone, and what an operation holds. */
export async function reconcile({ store, model, observations, orchestrator }: Reconciling): Promise<void> {
  const held = new Set((await store.operations.unfinished()).map((operation) => operation.project))
  for (const { row, resolved } of model.all()) {
    if (held.has(row.id) || row.phase !== 'ready' || observations.unknown(row.id) !== null) continue
    // What stands in the way of one workload is no reason to leave the others down.
    const { workloads: wanted, unresolved } = resolved
    const observed = observations.of(row.id)
    const { changes } = planProject({ wanted, unresolved, observed, goal: goalOf(row.desired), keepChanged: true })
    if (changes.length === 0) continue
    try {
      const accepted = await store.transaction((tx) =>
        acceptAct(tx, store, row, { do: 'reconcile' }, { actor: 'system', requestId: '' }),
      )
      begin(accepted, { model, orchestrator })
    } catch (error) {
      // A person was quicker, and what was asked for is never merged. The other projects are looked at all the same.
      if (!(error instanceof ProblemError && error.code === 'busy')) throw error
    }
  }
}
