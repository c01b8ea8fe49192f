/** What is remembered of one workload's crashes while the service runs. */
export interface CrashHistory {
  /** Times of crashes in a row, oldest first, in milliseconds. A run that lasted long enough begins anew. */
  readonly crashes: readonly number[]
}

export const noCrashes: CrashHistory = { crashes: [] }

export const restartPolicy = {
  /** Wait before the first, second, … restart, milliseconds. */
  delays: [200, 1_000, 2_000, 4_000, 8_000],
  /** A run this long was a success: the count begins anew. */
  steadyMs: 60_000,
} as const

export type RestartDecision =
  | { readonly restart: true; readonly afterMs: number; readonly history: CrashHistory }
  /** It crashed as often as there are delays, each time soon: trying on would only burn the machine. */
  | { readonly restart: false; readonly history: CrashHistory }

/** Pure. `startedAt` is when the run that now ended began. */
export function planRestart(history: CrashHistory, startedAt: number, now: number): RestartDecision {
  const before = now - startedAt >= restartPolicy.steadyMs ? [] : history.crashes
  const crashes = [...before, now]
  const afterMs = restartPolicy.delays[crashes.length - 1]
  return afterMs === undefined
    ? { restart: false, history: { crashes } }
    : { restart: true, afterMs, history: { crashes } }
}
