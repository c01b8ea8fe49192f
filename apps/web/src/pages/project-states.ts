import type { ProjectStatus } from '@stackquay/contract'

/** In the order of the filter. A record, so that the compiler notices a state that is missing. */
const order: Readonly<Record<ProjectStatus['state'], number>> = {
  running: 1,
  degraded: 2,
  failed: 3,
  starting: 4,
  stopping: 5,
  stopped: 6,
  creating: 7,
  deleting: 8,
}
export const projectStates = (Object.keys(order) as ProjectStatus['state'][]).sort(
  (one, other) => order[one] - order[other],
)
