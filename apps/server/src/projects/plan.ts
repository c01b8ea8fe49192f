import type { Plan } from '@stackquay/contract'
import { observedAfter, type PlanRequest, planProject, type Resolved } from '@stackquay/domain'
import type { Change, Engine, Observed } from '@stackquay/engine-api'
import type { Observations } from '@stackquay/orchestrator'
import type { OperationRow, ProjectRow, Store } from '@stackquay/store'
import { asideTitle, type NamedSnapshot } from './data-title.ts'
import { removalsOf } from './removals.ts'

/** What a plan stands on: what is there, or what the operation that runs or waits is to reach. */
export async function standOf(
  row: Pick<ProjectRow, 'id' | 'desired'>,
  now: Pick<Resolved, 'workloads'>,
  { store, observations }: { readonly store: Store; readonly observations: Observations },
  look: 'now' | 'lastSeen' = 'now',
): Promise<{ readonly observed: readonly Observed[]; readonly after: readonly OperationRow[] }> {
  const after = await store.operations.unfinishedOf(row.id)
  const observed =
    after.length === 0
      ? await (look === 'now' ? observations.refresh(row.id) : observations.current(row.id))
      : observedAfter(row.desired, now.workloads, observations.of(row.id))
  return { observed, after }
}

/** The plan as it is shown: the same functions that the operation runs, over what is there now. */
export function planOf(
  engine: Engine,
  resolved: Resolved,
  observed: readonly Observed[],
  request: Partial<PlanRequest> & Pick<PlanRequest, 'goal'>,
  {
    deletesData = [],
    trashUntil = null,
    snapshots = [],
    changes: fields = [],
    after = [],
  }: {
    readonly deletesData?: readonly string[]
    /** Null: what is deleted does not go to the trash. */
    readonly trashUntil?: string | null
    readonly snapshots?: readonly NamedSnapshot[]
    readonly changes?: Plan['plan']['changes']
    /** What runs and waits: `observed` is what it is to reach. */
    readonly after?: readonly Pick<OperationRow, 'id'>[]
  } = {},
): { readonly changes: readonly Change[]; readonly plan: Plan } {
  const { workloads: wanted, unresolved } = resolved
  const result = planProject({ wanted, unresolved, observed, ...request })
  const project = wanted[0]?.ref.project ?? observed[0]?.ref.project ?? ''
  const first = deletesData.length === 0 ? [] : removalsOf(result.changes, project, deletesData, snapshots)
  const changes = [...first, ...result.changes.filter((change) => !first.includes(change))]
  const steps = changes.flatMap((change) => {
    const because = change.type === 'replace' ? [...change.because] : []
    const workload =
      change.type === 'start' || change.type === 'replace'
        ? change.workload.ref.workload
        : change.type === 'deleteData' || change.type === 'strays'
          ? null
          : change.ref.workload
    if (change.type === 'deleteData' && trashUntil !== null)
      return [{ title: asideTitle(change.data, snapshots), workload, because }]
    return engine.plan(change).map((step) => ({ title: step.title, workload, because }))
  })
  return {
    changes,
    plan: {
      plan: {
        steps,
        starts: [...result.summary.starts],
        restarts: [...result.summary.restarts],
        stops: [...result.summary.stops],
        keepsRunning: [...result.summary.keepsRunning],
        deletesData: [...deletesData],
        trashUntil,
        changes: fields,
        warnings: resolved.errors.map((error) => error.detail),
        after: after.at(-1)?.id ?? null,
        exact: after.length === 0,
      },
    },
  }
}
