import type { Socket } from 'node:net'
import { PassThrough, type Writable } from 'node:stream'
import { freeChunks } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import type { BackupPrograms, DataProgram } from '@stackquay/domain'
import type { Engine, PipedBytes, SecretRef } from '@stackquay/engine-api'

export interface ProgramDeps {
  readonly engine: Pick<Engine, 'commands'>
  reveal(ref: SecretRef): Promise<string>
}

/** What a program writes of the data of a workload that runs, as a tar of it, for the folder `prefix` of it. Throws when the program fails. */
export function onlineArchive({ workload, online }: BackupPrograms, deps: ProgramDeps, signal: AbortSignal) {
  if (online === null) throw new TypeError(`${workload.title} has no program that takes its data while it runs.`)
  const use = { project: workload.ref.project, failed: failedFor(workload.title) }
  const bytes: PipedBytes = {
    [Symbol.asyncIterator]: () => outputOf(online, use, deps, signal),
    into: (pipe, stopped) => outputInto(pipe, online, use, deps, AbortSignal.any([signal, stopped])),
  }
  return { bytes, ...(online.prefix === undefined ? {} : { prefix: online.prefix }) }
}

/** What is in the data of a workload that runs; null where nobody counts it. Throws when the program fails. */
export async function contentsOf(
  { workload, contents }: BackupPrograms,
  deps: ProgramDeps,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | null> {
  if (contents === null) return null
  const chunks: Buffer[] = []
  let length = 0
  const failed = failedFor(workload.title)
  for await (const chunk of outputOf(contents, { project: workload.ref.project, failed }, deps, signal)) {
    length += chunk.length
    if (length > mostContents) throw failed(null, 'it printed more than there can be of counts')
    chunks.push(chunk)
  }
  try {
    const found: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (typeof found === 'object' && found !== null) return found as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw failed(null, 'it printed no counts')
}

const mostContents = 1024 * 1024
const stop = { signal: 'SIGTERM', deadlineSeconds: 5 } as const
const keptWords = 2000

export interface ProgramUse {
  readonly project: string
  /** What it reads. Where that breaks off, the program is ended before it has read the end. */
  readonly input?: AsyncIterable<Uint8Array>
  /** What it says on standard error. */
  onWords?(text: string): void
  /** What its failure means; `words` are the last that it said. */
  failed(code: number | null, words: string): Error
}

/** What a program writes. It is held back while nobody reads on, and ended when nobody will. */
export async function* outputOf(
  program: DataProgram,
  { project, input, onWords, failed }: ProgramUse,
  { engine, reveal }: ProgramDeps,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const left = new AbortController()
  const output = new PassThrough({ highWaterMark: 1 << 20 })
  let words = ''
  const take = async (stream: 'stdout' | 'stderr', bytes: Buffer) => {
    if (stream === 'stderr') {
      const text = bytes.toString('utf8')
      words = (words + text).slice(-keptWords)
      onWords?.(text)
      return
    }
    if (output.destroyed || output.write(bytes)) return
    await new Promise<void>((resolve) => {
      output.once('drain', resolve).once('close', resolve)
    })
  }
  const ended = engine.commands
    .exec(
      { ...program, project, stop },
      { stdin: input ?? null, output: take },
      {
        signal: AbortSignal.any([signal, left.signal]),
        reveal,
      },
    )
    .then(({ code }) => {
      signal.throwIfAborted()
      if (code !== 0) throw failed(code, words.trim())
      output.end()
    })
  ended.catch((error: Error) => output.destroy(error))
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      freeChunks(chunk.length)
      yield chunk
    }
    await ended
  } finally {
    left.abort()
    output.destroy()
    await ended.catch(() => undefined)
  }
}

/** The same, into a pipe: past this process, where the engine can do that. */
async function outputInto(
  pipe: Socket,
  program: DataProgram,
  { project, failed }: Pick<ProgramUse, 'project' | 'failed'>,
  { engine, reveal }: ProgramDeps,
  signal: AbortSignal,
): Promise<true> {
  let words = ''
  const output = async (stream: 'stdout' | 'stderr', bytes: Buffer) => {
    if (stream === 'stderr') words = (words + bytes.toString('utf8')).slice(-keptWords)
    else {
      freeChunks(bytes.length)
      if (!pipe.write(bytes)) await writable(pipe)
    }
  }
  const io = { stdin: null, output, pipe }
  const { code } = await engine.commands.exec({ ...program, project, stop }, io, { signal, reveal })
  signal.throwIfAborted()
  if (code !== 0) throw failed(code, words.trim())
  pipe.end()
  return true
}

/** Or closed. */
function writable(stream: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = () => {
    stream.off('drain', done).off('close', done)
    resolve()
  }
  if (stream.destroyed) resolve()
  else stream.once('drain', done).once('close', done)
  return promise
}

function failedFor(title: string): ProgramUse['failed'] {
  return (_code, words) =>
    new ProblemError('job_failed', `The program that reads ${title} failed: ${words.split('\n').at(-1) ?? ''}`, {
      hint: 'Look at its log. Stop it, and its data is copied instead.',
    })
}
