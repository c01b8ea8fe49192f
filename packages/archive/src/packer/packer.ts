import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { ArchiveError } from '../error.ts'
import { throwAsDiskFull } from '../files.ts'
import { freeChunks } from '../free-chunks.ts'
import { brokenArchive } from '../tar-prefix.ts'
import { untilAborted } from '../until-aborted.ts'
import { compressionFailed, type FromPacker, type Packed, type Purpose } from './messages.ts'

/** What is packed. What a program writes goes from there into the packer: this process sees nothing of it. */
export interface Content extends AsyncIterable<Uint8Array> {
  /**
   * Lets a program write all of it into the pipe, closes this process’s end, and resolves when all was written. Throws when that is not so.
   * False: nothing was done, it can only be read.
   */
  into?(pipe: Socket, signal: AbortSignal): Promise<boolean>
}

export interface PackOptions extends Purpose {
  readonly signal: AbortSignal
  onBytes?(contentBytes: number): void
}

/** Packs the content into a new file, which is on the disk when this resolves. After an error there is none. */
export async function packFile(path: string, content: Content, options: PackOptions): Promise<Packed> {
  options.signal.throwIfAborted()
  const file = await open(path, 'wx+', 0o600).catch(throwAsDiskFull)
  try {
    return await pack(file.fd, content, options)
  } catch (error) {
    await rm(path, { force: true })
    return throwAsDiskFull(error)
  } finally {
    await file.close()
  }
}

async function pack(file: number, content: Content, { signal, onBytes, ...purpose }: PackOptions): Promise<Packed> {
  const child = start(file, purpose)
  const gone = once(child, 'close').catch(() => undefined)
  const stopping = new AbortController()
  const failed = Promise.withResolvers<never>()
  const fail = (error: unknown) => failed.reject(error)
  const abort = () => fail(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const packed = answerOf(child, onBytes)
  const fed = feed(content, child.stdin as Socket, stopping.signal)
  // The first that fails says why: what follows from it fails too. Why content broke off is known where it comes from.
  fed.catch(fail)
  packed.catch((error: NodeJS.ErrnoException) =>
    error.code === brokenArchive
      ? fed.then(
          () => fail(error),
          () => undefined,
        )
      : fail(error),
  )
  try {
    return await Promise.race([Promise.all([packed, fed]).then(([found]) => found), failed.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    child.kill('SIGKILL')
    stopping.abort()
    await gone
    await fed.catch(() => undefined)
  }
}

async function feed(content: Content, pipe: Socket, signal: AbortSignal): Promise<void> {
  if (await content.into?.(pipe, signal)) return
  let contentError: { readonly error: unknown } | null = null
  async function* watched() {
    try {
      for await (const chunk of untilAborted(content, signal)) {
        freeChunks(chunk.length)
        yield chunk
      }
    } catch (error) {
      contentError = { error }
      throw error
    }
  }
  await pipeline(watched(), pipe).catch((error: unknown) => {
    if (contentError !== null) throw (contentError as { readonly error: unknown }).error
    // How the packer ended says more.
    return signal.aborted ? undefined : new Promise<void>((_, reject) => setTimeout(reject, diedMs, error).unref())
  })
}

const diedMs = 2000

function answerOf(child: ChildProcess, onBytes: PackOptions['onBytes']): Promise<Packed> {
  const { promise, resolve, reject } = Promise.withResolvers<Packed>()
  child.on('message', (message: FromPacker) => {
    switch (message.is) {
      case 'bytes':
        return onBytes?.(message.contentBytes)
      case 'packed':
        onBytes?.(message.packed.contentBytes)
        return resolve(message.packed)
      case 'failed':
        return reject(asError(message))
      default:
        return message satisfies never
    }
  })
  child.once('error', reject)
  child.once('exit', (code, signal) => reject(ended(`the process that packs ended (${signal ?? code})`)))
  return promise
}

function asError({ code, message }: FromPacker & { is: 'failed' }): Error {
  if (code === compressionFailed) return ended(`the program zstd failed: ${message}`)
  return Object.assign(new Error(message), { code })
}

function ended(detail: string): ArchiveError {
  return new ArchiveError('compression_failed', null, `The backup could not be compressed: ${detail}. Try again.`)
}

const program = fileURLToPath(new URL('./program.ts', import.meta.url))

function start(file: number, purpose: Purpose): ChildProcess {
  const flags = ['--max-semi-space-size=4', '--expose-gc', '--no-warnings']
  const child = spawn(process.execPath, [...flags, program, JSON.stringify(purpose)], {
    cwd: '/',
    // Nothing of the service’s own, but where Node keeps what it compiled. A second heap of glibc would stay mostly empty.
    env: { MALLOC_ARENA_MAX: '2', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['pipe', 'ignore', 'inherit', 'ipc', file],
    // A Ctrl+C at the terminal of the service is none of its business.
    detached: true,
  })
  // That it reads no more is told by its end.
  child.stdin!.on('error', () => undefined)
  return child
}
