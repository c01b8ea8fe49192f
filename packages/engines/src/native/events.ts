import type { EngineEvent } from '@stackquay/engine-api'

/** Hands every event to everyone who watches at that moment. */
export function createEvents() {
  const watchers = new Set<(event: EngineEvent) => void>()
  return {
    emit(event: EngineEvent): void {
      for (const watcher of watchers) watcher(event)
    },
    /** Listens from the call on, not only from the first `next`. */
    watch(...signals: readonly AbortSignal[]): AsyncIterable<EngineEvent> {
      const signal = AbortSignal.any([...signals])
      const queue: EngineEvent[] = []
      let wake = () => {}
      const watcher = (event: EngineEvent) => {
        queue.push(event)
        wake()
      }
      watchers.add(watcher)
      const onAbort = () => {
        watchers.delete(watcher)
        wake()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
      return (async function* () {
        try {
          while (!signal.aborted) {
            const event = queue.shift()
            if (event !== undefined) yield event
            else await new Promise<void>((resolve) => (wake = resolve))
          }
        } finally {
          watchers.delete(watcher)
        }
      })()
    },
  }
}
