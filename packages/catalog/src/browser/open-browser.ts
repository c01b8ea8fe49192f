import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { BrowseError } from '../browse/driver.ts'
import type { ImportAsk } from '../browse/import-rows.ts'
import type { ExportAsk } from '../browse/sql-acts.ts'
import type { BrowseCalls, CallName, CrossingError, FromBrowser, Purpose, ToBrowser } from './messages.ts'

/** A database that is looked into, by a process of its own: from the first call on, until a while after the last one. */
export interface Browser {
  call<Name extends Exclude<CallName, 'export' | 'import'>>(
    name: Name,
    args: Parameters<BrowseCalls[Name]>,
    signal: AbortSignal,
  ): Promise<ReturnType<BrowseCalls[Name]>>
  /** Not read on, it waits; left, it is cancelled. */
  export(ask: ExportAsk, signal: AbortSignal): AsyncGenerator<Buffer>
  /** Read to its end; what breaks off imports nothing. */
  import(ask: ImportAsk, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<{ readonly rows: number }>
  /** How many calls are under way. */
  busy(): number
  end(): Promise<void>
}

interface Waiting {
  readonly answer: PromiseWithResolvers<unknown>
  on(message: Extract<FromBrowser, { is: 'chunk' | 'more' }>): void
}

const program = fileURLToPath(new URL('./program.ts', import.meta.url))

/** `onEnd`: the process is gone; another one is needed. */
export function openBrowser(purpose: Purpose, onEnd: () => void): Browser {
  const child = start()
  const waiting = new Map<number, Waiting>()
  let last = 0
  const gone = once(child, 'exit').catch(() => undefined)
  const fail = (error: Error) => {
    for (const { answer } of waiting.values()) answer.reject(error)
    waiting.clear()
    onEnd()
  }
  const tell = (message: ToBrowser) => {
    if (child.connected) child.send(message)
  }
  child.on('error', fail)
  child.once('exit', () =>
    fail(
      new BrowseError(
        'refused',
        'The server answered too much to be held, or what makes no sense, and the process that looks into it ended. Ask for less.',
      ),
    ),
  )
  child.on('message', (message: FromBrowser) => {
    const found = waiting.get(message.id)
    if (message.is === 'chunk' || message.is === 'more') return found?.on(message)
    waiting.delete(message.id)
    if (message.is === 'answer') found?.answer.resolve(message.value)
    else found?.answer.reject(asError(message.error))
  })
  tell({ is: 'purpose', purpose })
  // It ends with the service, which waits for it no longer than for who asked.
  child.unref()
  child.channel?.unref()

  const begin = (
    name: CallName,
    args: readonly unknown[],
    signal: AbortSignal,
    on: Waiting['on'] = () => undefined,
  ) => {
    signal.throwIfAborted()
    const id = ++last
    const answer = Promise.withResolvers<unknown>()
    waiting.set(id, { answer, on })
    const abort = () => tell({ is: 'abort', id })
    signal.addEventListener('abort', abort, { once: true })
    tell({ is: 'call', id, name, args })
    const ended = answer.promise.finally(() => signal.removeEventListener('abort', abort))
    return { id, ended }
  }
  return {
    call: async (name, args, signal) => (await begin(name, args, signal).ended) as never,
    export: (ask, signal) => chunksOf(ask, begin, tell, signal),
    import: (ask, content, signal) => fed(ask, content, begin, tell, signal),
    busy: () => waiting.size,
    end: async () => {
      if (child.connected) child.disconnect()
      const late = setTimeout(() => child.kill('SIGKILL'), endMs)
      await gone
      clearTimeout(late)
    },
  }
}

type Begin = (
  name: CallName,
  args: readonly unknown[],
  signal: AbortSignal,
  on: Waiting['on'],
) => { readonly id: number; readonly ended: Promise<unknown> }

async function* chunksOf(
  ask: ExportAsk,
  begin: Begin,
  tell: (message: ToBrowser) => void,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const left = new AbortController()
  const chunks: Uint8Array[] = []
  let wake = Promise.withResolvers<void>()
  const { id, ended } = begin('export', [ask], AbortSignal.any([signal, left.signal]), (message) => {
    if (message.is === 'chunk') chunks.push(message.bytes)
    wake.resolve()
  })
  let isDone = false
  const whole = ended.then(() => {
    isDone = true
  })
  whole.catch(() => undefined)
  try {
    for (;;) {
      await Promise.race([wake.promise, whole])
      wake = Promise.withResolvers()
      const next = chunks.shift()
      if (next !== undefined) {
        yield Buffer.from(next)
        tell({ is: 'taken', id })
      } else if (isDone) return
    }
  } finally {
    left.abort()
    await ended.catch(() => undefined)
  }
}

async function fed(
  ask: ImportAsk,
  content: AsyncIterable<Uint8Array>,
  begin: Begin,
  tell: (message: ToBrowser) => void,
  signal: AbortSignal,
): Promise<{ readonly rows: number }> {
  const broken = new AbortController()
  const chunks = content[Symbol.asyncIterator]()
  const { id, ended } = begin('import', [ask], AbortSignal.any([signal, broken.signal]), () => {
    chunks.next().then(
      (next) => tell({ is: 'content', id, bytes: next.done === true ? null : next.value }),
      (error: unknown) => broken.abort(error),
    )
  })
  try {
    return (await ended) as { readonly rows: number }
  } catch (error) {
    broken.signal.throwIfAborted()
    throw error
  } finally {
    await chunks.return?.()
  }
}

const endMs = 2_000

function start(): ChildProcess {
  return spawn(process.execPath, ['--max-semi-space-size=4', '--max-old-space-size=256', '--no-warnings', program], {
    cwd: '/',
    // Time zones may be set there. Nothing of the service’s own settings is any business of it.
    env: { PATH: process.env.PATH, TZ: process.env.TZ, MALLOC_ARENA_MAX: '2' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    // A Ctrl+C at the terminal of the service is none of its business.
    detached: true,
  })
}

function asError({ code, message, stack, facts }: CrossingError): Error {
  if (code !== null) return new BrowseError(code, message, facts)
  return Object.assign(new Error(message), { stack })
}
