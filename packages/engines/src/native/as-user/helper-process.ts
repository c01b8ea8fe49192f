import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Account } from '../account.ts'
import { FilesError, filesErrorOf } from './files-error.ts'
import { createFrameReader, encodeFrame, type FrameLimits, mostJson, type Reply, type Request } from './frames.ts'
import { givingUpRights, systemPath } from './restricted.ts'

/** One process that acts as a user. Whatever it answers is checked: a program of that user may have killed it. */
export interface HelperProcess {
  readonly pid: number
  /** Throws `broken` when the process ended, `timeout` when it did not answer in time. */
  call(call: Call): Promise<{ readonly value: unknown; readonly bytes: Buffer }>
  /** Calls that wait for their answer. */
  waiting(): number
  alive(): boolean
  end(): void
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>
}

export interface Call {
  readonly act: string
  readonly args: unknown
  readonly bytes: Buffer
  /** The most that its answer may hold. */
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

interface Waiting {
  readonly maxBytes: number
  done(answer: { readonly value: unknown; readonly bytes: Buffer }): void
  fail(error: unknown): void
}

const program = fileURLToPath(new URL('./helper.ts', import.meta.url))
const mostComplaint = 2_000
/** One that was told to give up a call and still answers nothing is stopped or stuck. */
const graceMs = 1_000

export async function startHelper(account: Account, compiled: string | null): Promise<HelperProcess> {
  const argv = [
    ...(await givingUpRights()),
    process.execPath,
    '--max-old-space-size=64',
    '--max-semi-space-size=2',
    '--no-warnings',
    program,
    String(account.uid),
    String(account.gid),
  ]
  const child = spawn(argv[0]!, argv.slice(1), {
    cwd: '/',
    env: {
      PATH: systemPath,
      LANG: 'C.UTF-8',
      // Work that io_uring does in the kernel keeps the rights of who set it up.
      UV_USE_IO_URING: '0',
      ...(compiled === null ? {} : { NODE_COMPILE_CACHE: compiled }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A Ctrl+C at the terminal of the service is none of its business.
    detached: true,
  })
  return supervise(child)
}

function supervise(child: ChildProcess): HelperProcess {
  const waiting = new Map<number, Waiting>()
  let next = 1
  let alive = true
  let complaint = ''

  const broken = (why: string) => {
    if (!alive) return
    alive = false
    child.kill('SIGKILL')
    for (const { fail } of waiting.values()) fail(new FilesError('broken', undefined, { cause: new Error(why) }))
    waiting.clear()
  }
  const limits = (): FrameLimits => ({
    json: mostJson,
    bytes: Math.max(0, ...[...waiting.values()].map(({ maxBytes }) => maxBytes)),
  })
  const read = createFrameReader(limits, ({ json, bytes }) => {
    const reply = replyOf(json)
    if (reply === null) return broken('it answered nonsense')
    const call = waiting.get(reply.id)
    // The answer to a call that was given up comes late.
    if (call === undefined) return
    if (bytes.length > call.maxBytes) return broken('it answered more than it was asked for')
    waiting.delete(reply.id)
    if ('error' in reply) call.fail(errorOf(reply))
    else call.done({ value: reply.value, bytes })
  })
  child.stdout?.on('data', (chunk: Buffer) => {
    try {
      if (alive) read(chunk)
    } catch (error) {
      broken(String(error))
    }
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < mostComplaint) complaint += text
  })
  child.stdin?.on('error', () => {})
  child.on('error', (error) => broken(String(error)))
  // What waits for an answer has a timer; a process that nobody asks keeps nothing alive.
  child.unref()
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as Socket | null)?.unref()
  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', (code, signal) => {
      broken(`it ended (${signal ?? code}): ${complaint.trim()}`)
      resolve()
    })
  })

  return {
    pid: child.pid ?? 0,
    gone,
    alive: () => alive,
    waiting: () => waiting.size,
    end: () => broken('it was ended'),
    call: ({ act, args, bytes, maxBytes, timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        if (!alive) return reject(new FilesError('broken'))
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
        const send = (request: Request, body: Buffer = Buffer.alloc(0)) =>
          child.stdin?.write(encodeFrame(request, body))
        signal?.addEventListener('abort', abort, { once: true })
        waiting.set(id, {
          maxBytes,
          done: (answer) => settle(() => resolve(answer)),
          fail: (error) => settle(() => reject(error)),
        })
        send({ id, act, args }, bytes)
      }),
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
