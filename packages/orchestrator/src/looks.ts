import type { Observed, WorkloadRef } from '@stackquay/engine-api'
import type { SupervisorOptions } from './supervisor.ts'

/** What an operation does is looked at by itself when it ends; what is seen before is only to be shown. */
export async function lookAt(
  { queues, observations }: Pick<SupervisorOptions, 'queues' | 'observations'>,
  project: string,
): Promise<void> {
  if (!queues.isFree(project)) observations.refreshSoon(project)
  else await observations.refresh(project)
}

/** After something was done to it. That it cannot be looked at stops nothing. */
export async function lookAgain(
  { observations, onError }: Pick<SupervisorOptions, 'observations' | 'onError'>,
  ref: WorkloadRef,
): Promise<void> {
  await observations.refresh(ref.project).catch((error: unknown) => onError(error, ref))
}

/** As a new look shows it; undefined when there is nothing of it. */
export async function stateOf(
  { observations }: Pick<SupervisorOptions, 'observations'>,
  ref: WorkloadRef,
): Promise<Observed['state'] | undefined> {
  return (await observations.refresh(ref.project)).find((one) => one.ref.workload === ref.workload)?.state
}
