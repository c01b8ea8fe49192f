import { ProblemError } from '@stackquay/contract'
import type { ParsedManifest } from '@stackquay/domain'
import { TaskLimitError } from '../workers/thread-pool.ts'
import type { Workers } from '../workers/workers.ts'

const longestMs = 2000

/** What a project file says, or its faults; one that is too hard to read is a fault too. */
export async function readProjectFile(workers: Pick<Workers, 'run'>, text: string): Promise<ParsedManifest> {
  try {
    return await workers.run('manifest', text, { ms: longestMs })
  } catch (error) {
    if (!(error instanceof TaskLimitError)) throw error
    if (error.reason === 'busy') {
      const options = { hint: 'Try again in a few seconds.', headers: { 'retry-after': '5' } }
      throw new ProblemError('unavailable', 'Too many project files are being read at the same time.', options)
    }
    const what = error.reason === 'time' ? `longer than ${longestMs / 1000} seconds` : 'too much memory'
    const detail = `Reading the file takes ${what}. Make it shorter, and nest less.`
    return { ok: false, errors: [{ pointer: '', code: 'too_complex', detail, line: 1, column: 1 }] }
  }
}
