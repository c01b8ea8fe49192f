import type { ProjectStatus } from '@stackquay/contract'

/** In the order of the filter. A record, so that the compiler notices a state that is missing. */
const order: Readonly<Record<ProjectStatus['state'], number>> = {
  running: 1,
  degraded: 2,
  failed: 3,
  unknown: 4,
  starting: 5,
  stopping: 6,
  sleeping: 7,
  stopped: 8,
  creating: 9,
  deleting: 10,
}
export const projectStates = (Object.keys(order) as ProjectStatus['state'][]).sort(
  (one, other) => order[one] - order[other],
)
