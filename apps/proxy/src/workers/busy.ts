// An `import` would load all that it can measure: see `node-http.ts`.
const { performance } = process.getBuiltinModule('node:perf_hooks')

const lookEveryMs = 1_000
/** So much of a second that the event loop was at work, and there is hardly any left for a burst. */
const busyPart = 0.6

/** Calls `grow` after each second in which this process was busy, while it answers that there is room for more. */
export function whenBusy(grow: () => boolean): { stop(): void } {
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization >= busyPart && !grow()) clearInterval(timer)
  }, lookEveryMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
