import { Worker } from 'node:worker_threads'
import type { ResultFormat } from '@stackquay/catalog'
import type { TestResults } from '@stackquay/catalog/results/test-results'
import { unreadable } from './results-folder.ts'

const longestMs = 60_000

/** What a text of results says. Throws `ProblemError` when nobody can tell, or telling takes too long or too much memory. */
export async function readResults(format: ResultFormat, text: string, signal: AbortSignal): Promise<TestResults> {
  signal.throwIfAborted()
  const worker = new Worker(new URL('./results-worker.ts', import.meta.url), {
    workerData: { format, text },
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  const { promise, resolve, reject } = Promise.withResolvers<TestResults>()
  worker.once('message', ({ results, unreadable: why }: { results: TestResults | null; unreadable: string | null }) =>
    results === null ? reject(unreadable(withoutStop(why ?? ''))) : resolve(results),
  )
  worker.once('error', (error: unknown) =>
    reject(unreadable(withoutStop(error instanceof Error ? error.message : String(error)))),
  )
  worker.once('exit', () => reject(unreadable('reading them took too long or too much memory')))
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  const deadline = setTimeout(() => reject(unreadable('reading them took longer than a minute')), longestMs)
  try {
    return await promise
  } finally {
    clearTimeout(deadline)
    signal.removeEventListener('abort', stop)
    await worker.terminate()
  }
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '')
}
