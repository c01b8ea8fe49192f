import type { ResultFormat } from '@stackquay/catalog'
import type { TestResults } from '@stackquay/catalog/results/test-results'
import { TaskLimitError } from '../workers/thread-pool.ts'
import type { Workers } from '../workers/workers.ts'
import { unreadable } from './results-folder.ts'

const longestMs = 60_000

/** What a text of results says. Throws `ProblemError` when nobody can tell, or telling takes too long or too much memory. */
export async function readResults(
  workers: Pick<Workers, 'run'>,
  format: ResultFormat,
  text: string,
  signal: AbortSignal,
): Promise<TestResults> {
  const answer = await workers.run('results', { format, text }, { ms: longestMs, signal }).catch((error: unknown) => {
    throw error instanceof TaskLimitError ? unreadable(reasons[error.reason]) : error
  })
  if (answer.results === null) throw unreadable(withoutStop(answer.unreadable))
  return answer.results
}

const reasons: Readonly<Record<TaskLimitError['reason'], string>> = {
  time: 'reading them took longer than a minute',
  memory: 'reading them took too much memory',
  busy: 'the results of too many runs are being read',
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '')
}
