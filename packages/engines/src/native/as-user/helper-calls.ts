import { FilesError, filesErrorOf } from './files-error.ts'
import { type FrameLimits, mostJson, type Reply, type Request } from './frames.ts'

export interface Call {
  readonly act: string
  readonly args: unknown
  readonly bytes: Buffer
  /** The most that its answer may hold. */
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export interface Answer {
  readonly value: unknown
  readonly bytes: Buffer
}

/** Calls of one process that wait for their answers. */
export interface HelperCalls {
  readonly size: number
  /** What a frame may hold, by what was asked for. */
  limits(): FrameLimits
  begin(call: Call): Promise<Answer>
  /** Takes a frame. Answers what is wrong with it; null when nothing is. */
  take(json: unknown, bytes: Buffer): string | null
  /** All of them fail. */
  fail(error: FilesError): void
}

interface Waiting {
  readonly maxBytes: number
  done(answer: Answer): void
  fail(error: unknown): void
}

/** A process that should give up a call and still answers nothing is stopped or stuck. */
const graceMs = 1_000

export function createHelperCalls(
  send: (request: Request, body?: Buffer) => void,
  broken: (why: string) => void,
): HelperCalls {
  const waiting = new Map<number, Waiting>()
  let next = 1
  return {
    get size() {
      return waiting.size
    },
    limits: () => ({ json: mostJson, bytes: Math.max(0, ...[...waiting.values()].map(({ maxBytes }) => maxBytes)) }),
    begin: ({ act, args, bytes, maxBytes, timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        const id = next
        next += 1
        const giveUp = (error: unknown) => {
          settle(() => reject(error))
          send({ id })
          // Its late answer may be as large as before, until the process is known to have listened.
          const late = setTimeout(() => broken('it did not answer'), graceMs)
          waiting.set(id, { maxBytes, done: () => clearTimeout(late), fail: () => clearTimeout(late) })
        }
        const timer = setTimeout(() => giveUp(new FilesError('timeout')), timeoutMs)
        const abort = () => giveUp(signal?.reason)
        const settle = (answer: () => void) => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
          waiting.delete(id)
          answer()
        }
        signal?.addEventListener('abort', abort, { once: true })
        waiting.set(id, {
          maxBytes,
          done: (answer) => settle(() => resolve(answer)),
          fail: (error) => settle(() => reject(error)),
        })
        send({ id, act, args }, bytes)
      }),
    take(json, bytes) {
      const reply = replyOf(json)
      if (reply === null) return 'it answered nonsense'
      const call = waiting.get(reply.id)
      // The answer to a call that was given up comes late.
      if (call === undefined) return null
      if (bytes.length > call.maxBytes) return 'it answered more than it was asked for'
      waiting.delete(reply.id)
      if ('error' in reply) call.fail(errorOf(reply))
      else call.done({ value: reply.value, bytes })
      return null
    },
    fail(error) {
      for (const call of waiting.values()) call.fail(error)
      waiting.clear()
    },
  }
}

function replyOf(json: unknown): Reply | null {
  if (typeof json !== 'object' || json === null || !('id' in json) || typeof json.id !== 'number') return null
  return 'value' in json || ('error' in json && typeof json.error === 'string') ? (json as Reply) : null
}

/** Of the words of a process that is not trusted nothing is passed on but the system's code. */
function errorOf({ error, message }: Extract<Reply, { error: string }>): FilesError {
  if (error !== 'failed') return filesErrorOf(error)
  const code = /\(([A-Z0-9_]{1,40})\)/.exec(typeof message === 'string' ? message : '')?.[1] ?? 'UNKNOWN'
  return new FilesError('failed', `The system refused it (${code}).`)
}
