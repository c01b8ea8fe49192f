import type { ProjectStatus, WorkloadStatus } from '@stackquay/contract'

/** What is not well in a project, as the event of its status tells it. */
export interface Failing {
  /** Null: the project as a whole. */
  readonly workload: string | null
  readonly state: WorkloadStatus['state'] | 'failed' | 'out-of-memory'
  readonly outOfMemory: boolean
  readonly reason: string | null
  /** Another failure has another. */
  readonly mark: string
}

type Status = Pick<ProjectStatus, 'state' | 'warnings'> & { readonly workloads: readonly WorkloadStatus[] }

const failures: ReadonlySet<WorkloadStatus['state']> = new Set(['backing-off', 'crashed', 'unhealthy'])

/** Empty while everything is well, or on its way there. */
export function failingOf({ state, warnings, workloads }: Status): readonly Failing[] {
  const programs = workloads.filter((workload) => failures.has(workload.state)).map(failingWorkload)
  const short = warnings
    .filter(({ code }) => code === 'out_of_memory')
    .map(({ detail }) => ({
      workload: null,
      state: 'out-of-memory' as const,
      outOfMemory: true,
      reason: detail,
      mark: detail,
    }))
  if (state !== 'failed' || programs.length > 0) return [...programs, ...short]
  const reason = warnings[0]?.detail ?? null
  return [{ workload: null, state, outOfMemory: false, reason, mark: `failed ${reason}` }, ...short]
}

/** Programs that run while others do not. */
export function runningOf({ workloads }: Pick<Status, 'workloads'>): readonly string[] {
  return workloads.filter(({ state }) => state === 'running').map(({ name }) => name)
}

function failingWorkload({ name, state, restarts, lastExit, reason }: WorkloadStatus): Failing {
  return {
    workload: name,
    state,
    outOfMemory: state !== 'unhealthy' && lastExit?.outOfMemory === true,
    reason,
    mark: `${state} ${restarts} ${lastExit?.at ?? ''}`,
  }
}
