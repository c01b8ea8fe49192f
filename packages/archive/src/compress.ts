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
  // Never with ZSTD_c_nbWorkers: a window for each worker, and its threads outlive the stream.
  const stream = createZstdCompress({
    params: { [zlib.ZSTD_c_compressionLevel]: level, [zlib.ZSTD_c_checksumFlag]: 1 },
  })
  const feeding = feed(untilAborted(content, signal), stream)
  try {
    yield* stream as AsyncIterable<Buffer>
    throwIfAny(await feeding)
  } catch (error) {
    stream.destroy()
    throw (await feeding) ?? error
  } finally {
    stream.destroy()
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
  const ended = new AbortController()
  const ending = endOf(child).finally(() => ended.abort())
  // A content that waits must not keep us when the program has died.
  const source = watched(untilAborted(content, AbortSignal.any([signal, ended.signal])), ended.signal)
  const feeding = feed(source.chunks, child.stdin)
  try {
    const unread = yield* readable(child.stdout)
    const unfed = await feeding
    const failure = await ending
    signal.throwIfAborted()
    throwIfAny(source.error())
    if (failure !== null) throw failed(failure)
    if (unfed !== null || unread !== null) throw failed('it closed its pipes before the end')
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
    await ending
    await feeding
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

/** The chunks, and the error of where they come from: not that of a program that no longer takes them. */
function watched(chunks: AsyncIterable<Uint8Array>, programEnded: AbortSignal) {
  let failure: unknown = null
  async function* watch(): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks
    } catch (error) {
      if (!programEnded.aborted || error !== programEnded.reason) failure = error
      throw error
    }
  }
  return { chunks: watch(), error: () => failure }
}

/** Null, or the error. */
function feed(content: AsyncIterable<Uint8Array>, target: Writable): Promise<unknown> {
  return pipeline(content, target).then(
    () => null,
    (error: unknown) => error,
  )
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
