import { type AddonDefinition, ProblemError } from '@stackquay/contract'
import { refuseErrors } from '../projects/prepare.ts'
import { TaskLimitError } from '../workers/thread-pool.ts'
import type { Workers } from '../workers/workers.ts'

const longestMs = 2000

/** What the file of an addon says. Throws all its faults; one that is too hard to read is a fault too. */
export async function readAddonFile(workers: Pick<Workers, 'run'>, text: string): Promise<AddonDefinition> {
  const read = await workers.run('addon', text, { ms: longestMs }).catch(limited)
  if (!read.ok) {
    refuseErrors(read.errors.map((error) => ({ ...error, pointer: `/yaml${error.pointer}` })))
    throw new TypeError('A file that is refused has a fault.')
  }
  return read.definition
}

function limited(error: unknown) {
  if (!(error instanceof TaskLimitError)) throw error
  if (error.reason === 'busy')
    throw new ProblemError('unavailable', 'Too many files are being read at the same time.', {
      hint: 'Try again in a few seconds.',
      headers: { 'retry-after': '5' },
    })
  const what = error.reason === 'time' ? `longer than ${longestMs / 1000} seconds` : 'too much memory'
  const detail = `Reading the file takes ${what}. Make it shorter, and nest less.`
  return { ok: false as const, errors: [{ pointer: '', code: 'too_complex', detail, line: 1, column: 1 }] }
}
