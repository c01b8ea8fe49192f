import type { ResultFormat } from '@stackquay/catalog'
import { readTestResults, type TestResults, UnreadableResults } from '@stackquay/catalog/results/test-results'

export type ReadResults =
  | { readonly results: TestResults; readonly unreadable: null }
  | { readonly results: null; readonly unreadable: string }

/** Reads a text that programs of a project wrote. */
export function run({ format, text }: { readonly format: ResultFormat; readonly text: string }): ReadResults {
  try {
    return { results: readTestResults(format, text), unreadable: null }
  } catch (error) {
    if (!(error instanceof UnreadableResults)) throw error
    return { results: null, unreadable: error.message }
  }
}
