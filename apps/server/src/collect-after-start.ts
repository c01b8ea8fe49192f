import { performance } from 'node:perf_hooks'

/**
 * A start leaves some 15 MB behind that V8 keeps until it needs room, which an idle service never does. So they are collected once, in a
 * quiet moment, because everything waits for the tenth of a second that it takes. Only where V8 was asked to let us (`--expose-gc`, as
 * `npm start` has it).
 */
export function collectAfterStart(ready: Promise<void>): void {
  const { gc } = globalThis
  if (gc === undefined) return
  ready.then(
    () => {
      let before = performance.eventLoopUtilization()
      const look = setInterval(() => {
        const now = performance.eventLoopUtilization()
        const { utilization } = performance.eventLoopUtilization(now, before)
        before = now
        if (utilization > quiet) return
        clearInterval(look)
        gc({ type: 'major', flavor: 'last-resort', execution: 'sync' })
      }, lookEveryMs)
      look.unref()
    },
    () => undefined,
  )
}

const lookEveryMs = 3_000
/** Share of the time that the event loop was busy. */
const quiet = 0.02
