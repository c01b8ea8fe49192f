import type { Plan } from '@stackquay/contract'

export interface PlanSummary {
  readonly nothing: boolean
  readonly starts: number
  readonly restarts: number
  readonly stops: number
  readonly keeps: number
  /** Workloads the project has running now, as far as the plan says. */
  readonly running: number
  readonly deletesData: readonly string[]
}

/** What a person needs to know before they say yes: how much is disturbed, and whether data goes. */
export function summaryOf({ plan }: Plan): PlanSummary {
  return {
    nothing: plan.steps.length === 0,
    starts: plan.starts.length,
    restarts: plan.restarts.length,
    stops: plan.stops.length,
    keeps: plan.keepsRunning.length,
    running: plan.restarts.length + plan.stops.length + plan.keepsRunning.length,
    deletesData: plan.deletesData,
  }
}
