import { Worker } from 'node:worker_threads'
import { ProblemError } from '@stackquay/contract'
import type { MatchAnswer, MatchQuestion } from './log-match-worker.ts'

/** Tells of texts without line feeds which of them match. Throws `deadline_exceeded` when that takes too long. */
export type Match = (texts: readonly string[], signal: AbortSignal) => Promise<Uint8Array>

/**
 * Regular expressions from outside, in threads of their own: a pattern like `(a+)+$` can take longer than the universe is
 * old, and nothing but the end of its thread ends it. All searches share few threads and wait their turn.
 */
export interface Matchers {
  /** Throws `invalid_request` for what is no pattern. `totalMs` limits all texts together, beside the limit of each call. */
  matcher(pattern: string, totalMs?: number): Match
  close(): Promise<void>
}

/** For one call, which is of at most some hundred KB. */
const callMs = 2000
const idleMs = 10_000
/** Two, so that a bad pattern of one person does not keep the search of another waiting. */
const threads = 2
const longestQueue = 200

export function createMatchers(): Matchers {
  const slots: Slot[] = Array.from({ length: threads }, createSlot)
  const queue: ((slot: Slot) => void)[] = []
  const free = [...slots]

  const take = async (signal: AbortSignal): Promise<Slot> => {
    const slot = free.pop()
    if (slot !== undefined) return slot
    if (queue.length >= longestQueue)
      throw new ProblemError('unavailable', 'Too many searches with regular expressions run at the same time.')
    const turn = Promise.withResolvers<Slot>()
    const give = (next: Slot) => turn.resolve(next)
    const leave = () => {
      const at = queue.indexOf(give)
      if (at >= 0) queue.splice(at, 1)
      turn.reject(signal.reason)
    }
    queue.push(give)
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await turn.promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
  const giveBack = (slot: Slot) => {
    const next = queue.shift()
    if (next === undefined) free.push(slot)
    else next(slot)
  }

  return {
    matcher(pattern, totalMs) {
      checkPattern(pattern)
      let left = totalMs ?? Number.POSITIVE_INFINITY
      return async (texts, signal) => {
        if (texts.length === 0) return new Uint8Array(0)
        const slot = await take(signal)
        const began = performance.now()
        try {
          const found = await slot.ask({ pattern, text: texts.join('\n') }, Math.min(callMs, left))
          if (found === 'late') throw tooSlow()
          if (!found.ok) throw badPattern(found.reason)
          return found.hits
        } finally {
          left -= performance.now() - began
          giveBack(slot)
        }
      }
    },
    async close() {
      await Promise.all(slots.map((slot) => slot.end()))
    },
  }
}

interface Slot {
  ask(question: MatchQuestion, limitMs: number): Promise<MatchAnswer | 'late'>
  end(): Promise<void>
}

/** One thread at most, begun when it is needed, ended when it is late or idle. */
function createSlot(): Slot {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  const end = async () => {
    clearTimeout(idle)
    const ending = worker
    worker = null
    await ending?.terminate()
  }
  const begin = () => {
    const begun = new Worker(new URL('./log-match-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    begun.unref()
    // Also for what happens while nobody asks.
    begun.on('error', () => undefined)
    begun.once('exit', () => {
      if (worker === begun) worker = null
    })
    return begun
  }
  return {
    async ask(question, limitMs) {
      clearTimeout(idle)
      worker ??= begin()
      const asked = worker
      const { promise, resolve } = Promise.withResolvers<MatchAnswer | 'late'>()
      const ended = () => resolve({ ok: false, reason: 'it takes more memory than there is for it' })
      let timer: NodeJS.Timeout | undefined
      asked.once('message', resolve)
      asked.once('exit', ended)
      // Counts from when the thread is there: on a busy machine that alone may take long.
      const start = () => {
        timer = setTimeout(() => resolve('late'), Math.max(1, limitMs))
      }
      if (asked.threadId > 0 && started.has(asked)) start()
      else {
        timer = setTimeout(() => resolve('late'), startMs)
        asked.once('online', () => {
          started.add(asked)
          clearTimeout(timer)
          start()
        })
      }
      asked.postMessage(question)
      const answer = await promise
      clearTimeout(timer)
      asked.off('message', resolve)
      asked.off('exit', ended)
      if (answer === 'late') await end()
      else {
        idle = setTimeout(() => void end(), idleMs)
        idle.unref()
      }
      return answer
    },
    end,
  }
}

const started = new WeakSet<Worker>()
const startMs = 20_000

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
