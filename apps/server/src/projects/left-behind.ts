import { stopsAll } from '@stackquay/domain'
import type { Observed, Workload } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import { actsOf } from './accept.ts'

/** How many of a project's operations are looked through for the last changes of it. */
const recentOperations = 20

/**
 * Workloads that earlier changes have not reached, because those failed or were cancelled: they run in the form from before them, or
 * were never started. What an upgrade of ours gave another form is not among them, nor what ended or was stopped.
 */
export async function leftBehind(
  row: Pick<ProjectRow, 'id' | 'desired'>,
  wanted: readonly Workload[],
  observed: readonly Observed[],
  store: Pick<Store, 'operations'>,
): Promise<readonly string[]> {
  if (row.desired !== 'running') return []
  const behind = wanted
    .filter(({ ref, fingerprint }) => {
      const now = observed.find((one) => one.ref.workload === ref.workload)
      return now === undefined || (now.fingerprint !== fingerprint && /^(running|waiting)$/.test(now.state))
    })
    .map(({ ref }) => ref.workload)
  if (behind.length === 0) return []
  const missed = new Set<string>()
  for (const operation of await store.operations.list({ project: row.id, limit: recentOperations, active: false })) {
    const acts = actsOf(operation)
    const update = acts.find((act) => act.do === 'update')
    const isWhole = acts.some(
      (act) => act.do === 'update' || act.do === 'sleep' || (act.do !== 'reconcile' && act.workload === undefined),
    )
    if (operation.state === 'succeeded' && isWhole && !stopsAll(acts)) break
    if (operation.state === 'succeeded' || update === undefined) continue
    for (const name of update.touches ?? behind) missed.add(name)
  }
  return behind.filter((name) => missed.has(name))
}
