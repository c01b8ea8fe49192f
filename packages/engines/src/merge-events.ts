import type { EngineEvent } from '@stackquay/engine-api'

type Source = (signal: AbortSignal) => AsyncIterable<EngineEvent>

/** Events of all sources as they come. Breaks off when one of them does: the follower begins again then. */
export async function* mergeEvents(sources: readonly Source[], signal: AbortSignal): AsyncGenerator<EngineEvent> {
  const over = new AbortController()
  const until = AbortSignal.any([signal, over.signal])
  const waiting: EngineEvent[] = []
  let open = sources.length
  let failure: { readonly error: unknown } | null = null
  let changed = Promise.withResolvers<void>()
  const notify = () => {
    changed.resolve()
    changed = Promise.withResolvers<void>()
  }
  const follow = async (source: Source) => {
    try {
      for await (const event of source(until)) {
        waiting.push(event)
        notify()
      }
    } catch (error) {
      if (!until.aborted) failure ??= { error }
    } finally {
      open -= 1
      notify()
    }
  }
  for (const source of sources) void follow(source)
  try {
    for (;;) {
      const event = waiting.shift()
      if (event !== undefined) yield event
      else if (failure !== null) throw (failure as { error: unknown }).error
      else if (open === 0) return
      else await changed.promise
    }
  } finally {
    over.abort()
  }
}
