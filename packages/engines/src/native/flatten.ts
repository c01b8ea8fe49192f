import type { LogBatch, LogLine } from '@stackquay/engine-api'

/** One line at a time out of batches, without a generator's cost for each: logs hold millions of lines. */
export function flatten(batches: AsyncGenerator<LogBatch>): AsyncIterableIterator<LogLine> {
  let batch: readonly LogLine[] = []
  let at = 0
  const next = async (): Promise<IteratorResult<LogLine>> => {
    for (;;) {
      const result = await batches.next()
      if (result.done === true) return { done: true, value: undefined }
      batch = result.value.lines
      at = 0
      if (batch.length > 0) return { done: false, value: batch[at++]! }
    }
  }
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => (at < batch.length ? Promise.resolve({ done: false, value: batch[at++]! }) : next()),
    async return() {
      await batches.return(undefined)
      return { done: true, value: undefined }
    },
  }
}
