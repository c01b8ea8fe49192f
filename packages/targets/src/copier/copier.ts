import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import type { CopyIndex, Piece } from '../copy-format.ts'
import type { TargetAccess } from '../open-target.ts'
import type { CopySource } from '../send-copy.ts'
import { TargetError } from '../target.ts'
import type { TargetKey } from '../target-key.ts'
import type { CallName, CopierCalls, CrossingError, FromCopier, ToCopier } from './messages.ts'

/**
 * A target in use. A process of its own does what is asked: encryption and the libraries of S3 and SSH take their memory there, and
 * give it back at its end. It begins with the first thing that is asked, and ends when this is disposed of, or with the service.
 */
export interface Copier extends AsyncDisposable {
  /** Writes, reads back and deletes a small object. Throws why one of these does not do. */
  check(signal: AbortSignal): Promise<void>
  /** As `setUpKey` of this package. */
  setUpKey(passphrase: string | null, signal: AbortSignal): Promise<ReturnType<CopierCalls['setUpKey']>>
  requireKey(signal: AbortSignal): Promise<void>
  restoreKey(signal: AbortSignal): Promise<void>
  /** Null when there is none, or none that was finished. */
  find(backup: string, signal: AbortSignal): Promise<CopyIndex | null>
  /** All copies, of this instance and of others, and why some cannot be read. */
  list(signal: AbortSignal): Promise<ReturnType<CopierCalls['list']>>
  /** Whether there is an index, readable or not. */
  has(backup: string, signal: AbortSignal): Promise<boolean>
  remove(backup: string, signal: AbortSignal): Promise<void>
  removeLeftover(backup: string, signal: AbortSignal): Promise<void>
  /** As of this package: of how many copies that nobody finished something was removed. */
  removeAbandoned(copied: string, signal: AbortSignal): Promise<number>
  /** As `sendCopy` of this package. The source is read once, from its beginning to its end. */
  send(source: CopySource, options: CopierSendOptions): Promise<CopyIndex>
  /** The archive of a copy. What was yielded counts only when it ends without an error. Nothing else is asked meanwhile. */
  read(index: CopyIndex, signal: AbortSignal): AsyncGenerator<Buffer>
}

export interface CopierSendOptions {
  readonly sent: ReadonlyMap<number, Piece>
  onFirst(): Promise<void>
  onPiece(at: number, piece: Piece): Promise<void>
  onBytes(bytes: number): void
  readonly signal: AbortSignal
}

export interface CopierOptions {
  readonly access: TargetAccess
  /** Null until the target has one. */
  readonly key?: TargetKey
  /** What fails for a while is tried again, and told. Without it the first failure is the answer. */
  readonly onRetry?: (error: TargetError, pauseMs: number) => void
}

export function openCopier(options: CopierOptions): Copier {
  let running: Running | null = null
  const call = <Name extends CallName>(
    name: Name,
    args: Parameters<CopierCalls[Name]>,
    signal: AbortSignal,
    send: CopierSendOptions | null = null,
  ): Promise<ReturnType<CopierCalls[Name]>> => {
    running ??= begin(options)
    return running.call(name, args, signal, send) as Promise<ReturnType<CopierCalls[Name]>>
  }
  return {
    check: (signal) => call('check', [], signal),
    setUpKey: (passphrase, signal) => call('setUpKey', [passphrase], signal),
    requireKey: (signal) => call('requireKey', [], signal),
    restoreKey: (signal) => call('restoreKey', [], signal),
    find: (backup, signal) => call('find', [backup], signal),
    list: (signal) => call('list', [], signal),
    has: (backup, signal) => call('has', [backup], signal),
    remove: (backup, signal) => call('remove', [backup], signal),
    removeLeftover: (backup, signal) => call('removeLeftover', [backup], signal),
    removeAbandoned: (copied, signal) => call('removeAbandoned', [copied], signal),
    send: async ({ read, ...source }, send) => {
      const failing = new AbortController()
      const signal = AbortSignal.any([send.signal, failing.signal])
      const asked = call('send', [source, send.sent], signal, send)
      const { stdin } = running!
      const content = watched(read(0, source.size, signal), (error) => failing.abort(error))
      // It waits for what does not come any more. That it takes no more is told by how it ends.
      const fed = pipeline(Readable.from(content, { objectMode: false }), stdin, { end: false, signal }).catch(() => {
        stdin.destroy()
      })
      // Whatever ends it early, nothing more is read.
      const index = await asked.catch((error: unknown) => {
        failing.abort(error)
        throw error
      })
      await fed
      return index
    },
    read: async function* (index, signal) {
      const asked = call('read', [index], signal)
      const { stdout, kill } = running!
      let left = index.archiveBytes
      // There is nothing to wait for any more; why is told below.
      asked.catch(() => stdout.destroy())
      try {
        for await (const chunk of stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          left -= chunk.length
          yield chunk
          if (left <= 0) break
        }
      } catch (error) {
        await asked
        throw error
      } finally {
        // Whoever read has had enough: it would write on to nobody.
        if (left > 0) kill()
        await asked.catch(() => undefined)
      }
      await asked
    },
    [Symbol.asyncDispose]: async () => {
      await running?.end()
    },
  }
}

/** It was killed, or the machine had no memory for it. */
export class CopierEndedError extends Error {
  override readonly name = 'CopierEndedError'
}

/** The same, with its own failure told, and not that of who reads it. */
async function* watched(
  content: AsyncIterable<Uint8Array>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await chunks.next().catch((error: unknown) => {
        onFailure(error)
        throw error
      })
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await chunks.return?.()
  }
}

interface Running {
  readonly stdin: NonNullable<ChildProcess['stdin']>
  readonly stdout: NonNullable<ChildProcess['stdout']>
  call(name: CallName, args: readonly unknown[], signal: AbortSignal, send: CopierSendOptions | null): Promise<unknown>
  kill(): void
  end(): Promise<void>
}

const program = fileURLToPath(new URL('./program.ts', import.meta.url))

function begin({ access, key = undefined, onRetry }: CopierOptions): Running {
  const child = start()
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let sending: CopierSendOptions | null = null
  let last = 0
  const gone = once(child, 'exit').catch(() => undefined)
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const tell = (message: ToCopier) => {
    if (child.connected) child.send(message)
  }
  child.on('error', fail)
  child.once('exit', (code, signal) => fail(new CopierEndedError(`The process that copies ended (${signal ?? code}).`)))
  // That it reads no more is told by its end.
  child.stdin!.on('error', () => undefined)
  child.on('message', (message: FromCopier) => {
    switch (message.is) {
      case 'answer':
        return settle(message.id)?.resolve(message.value)
      case 'failure':
        return settle(message.id)?.reject(asError(message.error))
      case 'retry':
        return onRetry?.(asError(message.error) as TargetError, message.pauseMs)
      case 'bytes':
        return sending?.onBytes(message.bytes)
      case 'first':
        return note(sending?.onFirst())
      case 'piece':
        return note(sending?.onPiece(message.at, message.piece))
      default:
        return message satisfies never
    }
  })
  const settle = (id: number) => {
    const found = waiting.get(id)
    waiting.delete(id)
    return found
  }
  const note = (noting: Promise<void> | undefined) => {
    Promise.resolve(noting).then(
      () => tell({ is: 'noted', error: null }),
      (error: Error) => tell({ is: 'noted', error: error.message }),
    )
  }
  tell({ is: 'purpose', purpose: { access, key: key ?? null, retries: onRetry !== undefined } })
  return {
    stdin: child.stdin!,
    stdout: child.stdout!,
    call: async (name, args, signal, send) => {
      signal.throwIfAborted()
      if (child.exitCode !== null || child.signalCode !== null)
        throw new CopierEndedError('The process that copies has ended.')
      const id = ++last
      const answer = Promise.withResolvers<unknown>()
      waiting.set(id, answer)
      if (send !== null) sending = send
      const abort = () => tell({ is: 'abort', id })
      signal.addEventListener('abort', abort, { once: true })
      tell({ is: 'call', id, name, args })
      try {
        return await answer.promise
      } catch (error) {
        signal.throwIfAborted()
        throw error
      } finally {
        signal.removeEventListener('abort', abort)
      }
    },
    kill: () => child.kill('SIGKILL'),
    end: async () => {
      // It is asked for nothing any more; connections that it leaves open end with it.
      if (child.connected) child.disconnect()
      const late = setTimeout(() => child.kill('SIGKILL'), endMs)
      await gone
      clearTimeout(late)
    },
  }
}

const endMs = 2_000

function start(): ChildProcess {
  return spawn(process.execPath, ['--max-semi-space-size=4', '--no-warnings', program], {
    cwd: '/',
    // Certificates and time zones may be set there. A second heap of glibc would stay mostly empty. The service does without Node’s cache of
    // compiled code, which its memory would hold for good; this is gone soon and loads much.
    env: { ...process.env, MALLOC_ARENA_MAX: '2', NODE_DISABLE_COMPILE_CACHE: undefined },
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    serialization: 'advanced',
    // A Ctrl+C at the terminal of the service is none of its business.
    detached: true,
  })
}

function asError({ code, message, stack }: CrossingError): Error {
  if (code !== null) return new TargetError(code, message)
  return Object.assign(new Error(message), { stack })
}
