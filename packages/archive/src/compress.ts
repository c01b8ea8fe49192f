import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, constants as zlib } from 'node:zlib'
import { ArchiveError } from './error.ts'
import { untilAborted } from './until-aborted.ts'

const level = 3
/** Of the program’s complaints. */
const mostErrorText = 2000

/** The program `zstd` of this machine; null when there is none. */
export function findZstd(path = process.env.PATH ?? ''): string | null {
  const files = path.split(delimiter).filter((folder) => folder.startsWith('/'))
  return files.map((folder) => join(folder, 'zstd')).find(isProgram) ?? null
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/**
 * The content as one zstd frame, with its own checksum. The program runs on a core of its own; without it the same is done by
 * this process. Ends only when all content is in what was yielded: whatever goes wrong throws.
 */
export function compress(
  content: AsyncIterable<Uint8Array>,
  { zstd, signal }: { readonly zstd: string | null; readonly signal: AbortSignal },
): AsyncGenerator<Buffer> {
  return zstd === null ? inThisProcess(content, signal) : byProgram(zstd, content, signal)
}

async function* inThisProcess(content: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Buffer> {
  signal.throwIfAborted()
  // Never with ZSTD_c_nbWorkers: a window for each worker, and its threads outlive the stream.
  const stream = createZstdCompress({
    params: { [zlib.ZSTD_c_compressionLevel]: level, [zlib.ZSTD_c_checksumFlag]: 1 },
  })
  const feeding = feed(content, stream, signal)
  try {
    const unread = yield* readable(stream)
    throwIfAny((await feeding.end()) ?? unread)
  } finally {
    stream.destroy()
    await feeding.end()
  }
}

async function* byProgram(
  program: string,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  signal.throwIfAborted()
  // An environment could change what the arguments mean (ZSTD_NBTHREADS).
  const child = spawn(program, [`-${level}`, '-c', '-q'], { env: {}, stdio: ['pipe', 'pipe', 'pipe'] })
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  const ending = endOf(child)
  const feeding = feed(content, child.stdin, signal)
  try {
    const unread = yield* readable(child.stdout)
    const unfed = await feeding.end()
    const failure = await ending
    signal.throwIfAborted()
    if (feeding.isOfContent(unfed)) throw unfed
    if (failure !== null) throw failed(failure)
    if (unfed !== null || unread !== null) throw failed('it closed its pipes before the end')
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
    await ending
    await feeding.end()
  }
}

/** The error is answered, not thrown: how the program ended says more. */
async function* readable(stream: Readable): AsyncGenerator<Buffer, unknown> {
  try {
    yield* stream as AsyncIterable<Buffer>
    return null
  } catch (error) {
    return error
  }
}

interface Feeding {
  /** Null when all of the content was written, else the error. Does not wait for more content: nobody reads the output any more. */
  end(): Promise<unknown>
  /** Whether it comes from the content or from the signal, and not from a program that takes no more. */
  isOfContent(error: unknown): boolean
}

function feed(content: AsyncIterable<Uint8Array>, target: Writable, signal: AbortSignal): Feeding {
  const stopping = new AbortController()
  let contentError: unknown = null
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* untilAborted(content, AbortSignal.any([signal, stopping.signal]))
    } catch (error) {
      if (error !== stopping.signal.reason) contentError = error
      throw error
    }
  }
  const written = pipeline(watched(), target).then(
    () => null,
    (error: unknown) => contentError ?? error,
  )
  return {
    end: () => {
      stopping.abort()
      return written
    },
    isOfContent: (error) => error !== null && error === contentError,
  }
}

/** Null after exit code 0, else how it ended, with what it complained of. */
function endOf(child: ChildProcess): Promise<string | null> {
  let complaint = ''
  child.stderr?.on('data', (chunk) => {
    complaint = (complaint + String(chunk)).slice(-mostErrorText)
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => {
      if (code === 0) resolve(null)
      else resolve(`${signal === null ? `exit code ${code}` : `ended by ${signal}`} ${complaint}`.trim())
    })
  })
}

function failed(detail: string): ArchiveError {
  return new ArchiveError('compression_failed', null, `The program zstd failed: ${detail}. Try again.`)
}

function throwIfAny(error: unknown): void {
  if (error !== null) throw error
}
