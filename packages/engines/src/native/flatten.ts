/** One element at a time out of batches, without a generator's cost for each: logs hold millions of lines. */
export function flatten<T>(batches: AsyncGenerator<readonly T[]>): AsyncIterableIterator<T> {
  let batch: readonly T[] = []
  let at = 0
  const next = async (): Promise<IteratorResult<T>> => {
    for (;;) {
      const result = await batches.next()
      if (result.done === true) return { done: true, value: undefined }
      batch = result.value
      at = 0
      if (batch.length > 0) return { done: false, value: batch[at++] as T }
    }
  }
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => (at < batch.length ? Promise.resolve({ done: false, value: batch[at++] as T }) : next()),
    async return() {
      await batches.return(undefined)
      return { done: true, value: undefined }
    },
  }
}
