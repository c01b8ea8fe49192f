import { parentPort, workerData } from 'node:worker_threads'
import type { ResultFormat } from '@stackquay/catalog'
import { readTestResults, UnreadableResults } from '@stackquay/catalog/results/test-results'

/** Reads a text that programs of a project wrote, in a thread of its own: however long it takes, the service answers. */
const { format, text } = workerData as { format: ResultFormat; text: string }
try {
  parentPort?.postMessage({ results: readTestResults(format, text), unreadable: null })
} catch (error) {
  if (!(error instanceof UnreadableResults)) throw error
  parentPort?.postMessage({ results: null, unreadable: error.message })
}
