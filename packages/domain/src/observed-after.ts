import type { Observed, Workload } from '@stackquay/engine-api'
import type { Desired } from './sleep.ts'

/** What there is once the operation that runs or waits has reached its goal, for a plan that is to stand on that. Pure. */
export function observedAfter(
  desired: Desired,
  workloads: readonly Workload[],
  observed: readonly Observed[],
): readonly Observed[] {
  const seen = new Map(observed.map((one) => [one.ref.workload, one]))
  return workloads.flatMap((workload): Observed[] => {
    const { ref, fingerprint, title, stop, dependsOn } = workload
    const now = seen.get(ref.workload)
    if (desired !== 'running') return now === undefined ? [] : [{ ...now, state: 'stopped', health: 'none', pid: null }]
    return [
      {
        ref,
        fingerprint,
        title,
        stop,
        dependsOn,
        state: 'running',
        health: 'healthy',
        since: now?.since ?? new Date(0).toISOString(),
        pid: now?.pid ?? null,
        ports: workload.ports,
        lastExit: now?.lastExit ?? null,
        reason: null,
      },
    ]
  })
}
