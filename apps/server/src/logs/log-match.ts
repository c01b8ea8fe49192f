import { ProblemError } from '@stackquay/contract'
import { TaskLimitError } from '../workers/thread-pool.ts'
import type { Workers } from '../workers/workers.ts'

/** Tells of texts without line feeds which of them match. Throws `deadline_exceeded` when that takes too long. */
export type Match = (texts: readonly string[], signal: AbortSignal) => Promise<Uint8Array>

/**
 * Regular expressions from outside, in threads of their own: a pattern like `(a+)+$` can take longer than the universe is
 * old, and nothing but the end of its thread ends it. All searches share few threads and wait their turn.
 */
export interface Matchers {
  /** Throws `invalid_request` for what is no pattern. `totalMs` limits all texts together, beside the limit of each call. */
  matcher(pattern: string, totalMs?: number): Match
}

/** For one call, which is of at most some hundred KB. */
const callMs = 2000

export function createMatchers(workers: Pick<Workers, 'run'>): Matchers {
  return {
    matcher(pattern, totalMs) {
      checkPattern(pattern)
      let left = totalMs ?? Number.POSITIVE_INFINITY
      return async (texts, signal) => {
        if (texts.length === 0) return new Uint8Array(0)
        const began = performance.now()
        const limits = { ms: Math.min(callMs, Math.max(1, left)), signal }
        const found = await workers.run('match', { pattern, text: texts.join('\n') }, limits).catch(limitProblem)
        left -= performance.now() - began
        if (!found.ok) throw badPattern(found.reason)
        return found.hits
      }
    },
  }
}

function limitProblem(error: unknown): never {
  if (!(error instanceof TaskLimitError)) throw error
  switch (error.reason) {
    case 'time':
      throw tooSlow()
    case 'memory':
      throw badPattern('it takes more memory than there is for it')
    case 'busy':
      throw new ProblemError('unavailable', 'Too many searches with regular expressions run at the same time.')
    default:
      throw error.reason satisfies never
  }
}

function checkPattern(pattern: string): void {
  try {
    new RegExp(pattern, 'i')
  } catch (error) {
    throw badPattern(error instanceof Error ? error.message : String(error))
  }
}

function badPattern(reason: string): ProblemError {
  const detail = reason.replace(/^Invalid regular expression: /, '')
  return new ProblemError('invalid_request', `"q" is no regular expression: ${detail}.`, {
    hint: 'Correct it, or search for plain text without "regex". JavaScript’s rules hold.',
    errors: [{ pointer: '/q', code: 'invalid', detail }],
  })
}

function tooSlow(): ProblemError {
  return new ProblemError('deadline_exceeded', 'The regular expression took too long on these lines and was ended.', {
    hint: 'Narrow the search with "since", "until" or "workload", or write the expression without nested repetitions.',
  })
}
