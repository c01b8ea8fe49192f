import { planProject } from '@stackquay/domain'
import type { Observed } from '@stackquay/engine-api'
import type { Orchestrator } from '@stackquay/orchestrator'
import type { Store } from '@stackquay/store'
import { queueOperation, submit } from '../projects/change-project.ts'
import type { Model } from '../projects/model.ts'
import type { RestartHolds } from '../projects/restart-holds.ts'

/** What was being restarted when the service ended is down and comes back: requests go on waiting for it. */
export async function holdInterrupted({
  store,
  model,
  orchestrator,
  restartHolds,
}: Reconciling & { readonly restartHolds: RestartHolds }): Promise<void> {
  for (const { kind, project } of await store.operations.unfinished()) {
    const known = model.find(project)
    if (known === null || known.row.desired !== 'running' || (kind !== 'restart' && kind !== 'update')) continue
    const isUp = ({ state, health }: Observed) => state === 'running' && health !== 'starting'
    const up = orchestrator.observations.of(project).filter(isUp)
    const down = known.resolved.workloads.filter(({ ref }) => !up.some((one) => one.ref.workload === ref.workload))
    restartHolds.goOn(down.map(({ ref }) => ref))
  }
}

/** Goes on with operations that a crash interrupted, and starts or stops what is not as it should be. */
export async function resumeOperations(deps: Reconciling): Promise<void> {
  const { store, model, orchestrator } = deps
  for (const operation of await store.operations.unfinished())
    submit(operation, { model, orchestrator: () => orchestrator })
  await reconcile(deps)
}

export interface Reconciling {
  readonly store: Store
  readonly model: Model
  readonly orchestrator: Orchestrator
}

/** Starts or stops what is not as it should be. What cannot be looked at is left alone, and what an operation holds. */
export async function reconcile({ store, model, orchestrator }: Reconciling): Promise<void> {
  const held = new Set((await store.operations.unfinished()).map((operation) => operation.project))
  for (const { row, resolved } of model.all()) {
    if (held.has(row.id) || row.phase !== 'ready' || orchestrator.observations.unknown(row.id) !== null) continue
    // What stands in the way of one workload is no reason to leave the others down.
    const { workloads: wanted, unresolved } = resolved
    const observed = orchestrator.observations.of(row.id)
    const { changes } = planProject({ wanted, unresolved, observed, goal: row.desired, keepChanged: true })
    if (changes.length === 0) continue
    const operation = await store.transaction((tx) =>
      queueOperation(tx, 'reconcile', row.id, { actor: 'system', requestId: '' }, {}),
    )
    submit(operation, { model, orchestrator: () => orchestrator })
  }
}
