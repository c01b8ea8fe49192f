import { spawn } from 'node:child_process'
import { write } from 'node:fs'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { createZstdCompress, constants as zlib } from 'node:zlib'
import { freeChunks } from '../free-chunks.ts'
import { compressionFailed } from './messages.ts'

const level = 3
/** Of the program’s complaints. */
const mostErrorText = 2000
const chunkBytes = 1 << 20

/** Compresses into a file, as one zstd frame with its own checksum. */
export interface Compressor {
  /** Resolves when the piece may be used for something else. */
  add(piece: Buffer): Promise<void>
  /** Resolves when all that was added is in the file. */
  end(): Promise<void>
  /** Rejects when it can take no more, however long nothing is added. */
  readonly failed: Promise<never>
}

export function compressInto(file: number, zstd: string | null): Compressor {
  return zstd === null ? byThisProcess(file) : byProgram(zstd, file)
}

/** It writes into the file by itself. */
function byProgram(program: string, file: number): Compressor {
  // A second thread is worth it where there is a core for it; more would be too much beside what the projects do.
  const threads = Math.min(2, availableParallelism())
  const argv = [`-${level}`, `-T${threads}`, '-c', '-q']
  // An environment could change what the arguments mean (ZSTD_NBTHREADS).
  const child = spawn(program, argv, { env: {}, stdio: ['pipe', file, 'pipe'] })
  const [stdin, stderr] = [child.stdin!, child.stderr!]
  let complaint = ''
  stderr.on('data', (chunk) => {
    complaint = (complaint + String(chunk)).slice(-mostErrorText)
  })
  let isAllGiven = false
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => failed.reject(failure(error.message)))
    child.once('close', (code, signal) => {
      if (code === 0 && isAllGiven) return resolve()
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`
      failed.reject(failure(code === 0 ? 'it closed its pipes before the end' : `${how} ${complaint}`.trim()))
    })
  })
  // That it takes no more is told by how it ends.
  stdin.on('error', () => undefined)
  const given = (act: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve) => {
      act((error) => {
        if (error == null) resolve()
      })
    })
  return {
    failed: failed.promise,
    add: (piece) => Promise.race([given((done) => stdin.write(piece, done)), failed.promise]),
    end: async () => {
      const all = given((done) => stdin.end(done)).then(() => {
        isAllGiven = true
      })
      await Promise.race([all, failed.promise])
      await Promise.race([ended, failed.promise])
    },
  }
}

function failure(detail: string): Error {
  const code = /No space left|[Qq]uota exceeded|File too large/.test(detail) ? 'ENOSPC' : compressionFailed
  return Object.assign(new Error(detail), { code })
}

function byThisProcess(file: number): Compressor {
  // Never with ZSTD_c_nbWorkers: the stream of Node breaks with it.
  const stream = createZstdCompress({
    chunkSize: chunkBytes,
    params: { [zlib.ZSTD_c_compressionLevel]: level, [zlib.ZSTD_c_checksumFlag]: 1 },
  })
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  const written = (async () => {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      await writeAll(file, chunk)
      freeChunks(chunk.length)
    }
  })()
  written.catch((error: unknown) => failed.reject(error))
  return {
    failed: failed.promise,
    add: (piece) =>
      Promise.race([
        new Promise<void>((resolve, reject) => {
          stream.write(piece, (error) => (error == null ? resolve() : reject(error)))
        }),
        failed.promise,
      ]),
    end: async () => {
      stream.end()
      await written
    },
  }
}

const writeOnce = promisify(write)

/** One write may take only a part of it. */
async function writeAll(file: number, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; )
    done += (await writeOnce(file, chunk, done, chunk.length - done)).bytesWritten
}
