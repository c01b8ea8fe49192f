/**
 * The same chunks, until the signal aborts: then it throws the reason, even while the source waits for its next chunk. A source
 * that waits is told to end, but not waited for.
 */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]()
  let ended = false
  try {
    for (;;) {
      const next = await orAborted(iterator.next(), signal)
      if (next.done === true) {
        ended = true
        return
      }
      yield next.value
    }
  } finally {
    const returned = ended ? undefined : iterator.return?.()
    if (signal.aborted) returned?.catch(() => {})
    else await returned
  }
}

/** No `Promise.race` with one promise for all chunks: that one would keep every chunk in memory until the end. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
