import type { Act } from '@stackquay/domain'
import type { Orchestrator } from '@stackquay/orchestrator'
import { byTheService, type OperationRow, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { type Accepted, acceptAct, begin } from '../projects/accept.ts'
import type { Model } from '../projects/model.ts'

export interface SleepDeps {
  readonly store: Store
  readonly model: Model
  readonly orchestrator: Orchestrator
  readonly now: () => Date
}

/** Who wants it: a caller of the API, or a reason of the service's own. */
export type Cause = RequestContext | 'unused' | 'memory' | 'hours' | 'request' | 'deploy'

/** The operation that puts the project to sleep; null when it is not to run, or nobody asked and something is under way. Throws `busy`. */
export async function fallAsleep(
  id: string,
  cause: Cause,
  unusedSince: number | undefined,
  deps: SleepDeps,
): Promise<OperationRow | null> {
  const { store, now } = deps
  const isAsked = typeof cause !== 'string'
  const accepted = await store.transaction(async (tx) => {
    const row = await store.projects.find(id)
    if (row === null || row.phase !== 'ready' || row.desired === 'stopped') return null
    if (!isAsked && (row.desired === 'sleeping' || (await store.operations.unfinishedOf(id)).length > 0)) return null
    const act: Act = { do: 'sleep', ...(unusedSince === undefined ? {} : { unusedSince }) }
    const accepted = await acceptAct(tx, store, row, act, askerOf(cause))
    const asleep = row.asleep ?? { since: now().toISOString(), because: isAsked ? ('asked' as const) : 'unused' }
    await tx.projects.setLifecycle(id, { desired: 'sleeping', asleep })
    await writeDown(tx, 'project.sleep', row, accepted, cause)
    return accepted
  })
  if (accepted !== null) begin(accepted, deps)
  return accepted?.operation ?? null
}

/** The operation that wakes the project; null when it does not sleep. Throws `busy`. */
export async function wake(id: string, cause: Cause, deps: SleepDeps): Promise<OperationRow | null> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const row = await store.projects.find(id)
    if (row === null || row.phase !== 'ready' || row.desired !== 'sleeping') return null
    const accepted = await acceptAct(tx, store, row, { do: 'wake' }, askerOf(cause))
    await tx.projects.setLifecycle(id, { desired: 'running' })
    await writeDown(tx, 'project.wake', row, accepted, cause)
    return accepted
  })
  if (accepted !== null) begin(accepted, deps)
  return accepted?.operation ?? null
}

export type Awake = (row: ProjectRow, context: RequestContext) => Promise<ProjectRow>

/**
 * For what needs a project that runs: wakes one that sleeps, and waits until it is up, at most a minute. What does not come up is left to
 * be found out by who needs it.
 */
export function createAwake(deps: SleepDeps): Awake {
  return async (row, context) => {
    if (row.desired !== 'sleeping') return row
    const operation = await wake(row.id, context, deps)
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(60_000)])
    if (operation !== null) await deps.orchestrator.ended(operation.id, signal)
    return (await deps.store.projects.find(row.id)) ?? row
  }
}

function askerOf(cause: Cause): Pick<RequestContext, 'actor' | 'requestId'> {
  return typeof cause === 'string' ? { actor: 'system', requestId: '' } : cause
}

async function writeDown(
  tx: Transaction,
  action: 'project.sleep' | 'project.wake',
  { id, slug }: ProjectRow,
  { operation }: Accepted,
  cause: Cause,
): Promise<void> {
  const entry = { action, target: slug, project: id, operationId: operation.id }
  if (typeof cause === 'string')
    await tx.audit.append({ ...byTheService({ ...entry, changes: { because: cause } }), operationId: operation.id })
  else await tx.audit.append(cause.audit(entry))
}
