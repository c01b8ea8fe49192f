import { basename } from 'node:path'
import { type ExecBody, ExecInput, ProblemError, problemOf } from '@stackquay/contract'
import type { Engine, ExecIo, Exit, SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { z } from 'zod'
import type { FrameSocket, Reply, RequestContext } from '../http/handler.ts'
import { problemErrorOf } from '../http/problem-answer.ts'
import type { FilesOf } from '../projects/files-of.ts'
import { onDeletion } from '../projects/on-deletion.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import type { Resolver } from '../projects/resolver.ts'
import { containerOf, environmentFor, exitView, placesOf, refuseStopped } from './environment.ts'
import { createOutputLines } from './output-lines.ts'
import { withProgram } from './program.ts'
import { createStdinChannel } from './stdin-channel.ts'

/** Single programs in the environment of a runtime, a database or a service, each for the one who waits for it. Nothing of them is kept. */
export interface Exec {
  /** As JSON lines. */
  answer(
    project: ProjectRow,
    wanted: ExecWish,
    stdin: string | undefined,
    context: RequestContext,
  ): Promise<Reply<string>>
  /** With standard input and signals of whoever calls; resolves when it runs. */
  run(project: ProjectRow, wanted: ExecWish, io: ExecStreams, context: RequestContext): Promise<Begun>
  /** Over a WebSocket, with standard input and signals. */
  talk(project: ProjectRow, socket: FrameSocket, context: RequestContext): Promise<void>
}

export type ExecWish = z.infer<typeof ExecBody>

export interface ExecDeps {
  readonly store: Store
  readonly engine: Engine
  readonly resolver: Resolver
  readonly filesOf: FilesOf
  reveal(ref: SecretRef): Promise<string>
}

export type ExecStreams = Pick<ExecIo, 'stdin' | 'output'>

export function createExec(deps: ExecDeps): Exec {
  return {
    answer: async (project, wanted, stdin, context) => {
      const over = new AbortController()
      const signal = AbortSignal.any([context.signal, over.signal])
      const stream = await answerLines(deps, project, wanted, stdin, context, signal).catch((error: unknown) => {
        over.abort()
        throw error
      })
      return {
        status: 200,
        headers: { 'content-type': 'application/x-ndjson' },
        stream: endingWith(stream, () => over.abort()),
      }
    },
    run: (project, wanted, io, context) => begin(deps, project, wanted, io, context, context.signal),
    talk: (project, socket, context) => talk(deps, project, socket, context),
  }
}

/** The program's output and its end, as JSON lines. Rejects with why the program did not start. */
async function answerLines(
  deps: ExecDeps,
  project: ProjectRow,
  wanted: ExecWish,
  stdin: string | undefined,
  context: RequestContext,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> {
  const lines = createOutputLines()
  const queue = createLineQueue(signal)
  const io: ExecStreams = {
    stdin: stdin === undefined || stdin === '' ? null : oneChunk(stdin),
    output: (stream, bytes) => queue.put(lines.line(stream, bytes)),
  }
  const { ended } = await begin(deps, project, wanted, io, context, signal)
  ended.then(
    (exit) => queue.end(`${lines.rest()}${JSON.stringify({ exit: exitView(exit) })}\n`),
    (error: unknown) => {
      const problem = problemOf(problemErrorOf(error), { requestId: context.requestId })
      queue.end(`${lines.rest()}${JSON.stringify({ error: problem })}\n`)
    },
  )
  return queue.lines()
}

async function* endingWith(stream: AsyncIterable<string>, end: () => void): AsyncGenerator<string> {
  try {
    yield* stream
  } finally {
    end()
  }
}

async function talk(deps: ExecDeps, project: ProjectRow, socket: FrameSocket, context: RequestContext): Promise<void> {
  const stdin = createStdinChannel()
  const asked = Promise.withResolvers<ExecWish>()
  let process: Started | null = null
  socket.receive(async (message) => {
    if (message.kind === 'binary') return stdin.write(message.bytes)
    const input = readInput(message.text)
    if (input.type === 'run') {
      const { type: _type, ...wanted } = input
      return asked.resolve(wanted)
    }
    if (input.type === 'eof') return stdin.end()
    return process?.signal(input.signal)
  })
  const wanted = await firstFrame(asked.promise, socket.signal)
  if (wanted === null) return
  const io: ExecStreams = {
    stdin,
    output: (stream, bytes) => socket.sendBinary(Buffer.concat([stream === 'stdout' ? stdoutMark : stderrMark, bytes])),
  }
  try {
    const begun = await begin(deps, project, wanted, io, context, socket.signal)
    process = begun.process
    await socket.send({ type: 'start', pid: begun.process.pid })
    await socket.send({ type: 'exit', ...exitView(await begun.ended) })
  } finally {
    stdin.drop()
  }
}

/** Starts it; resolves when it runs, or rejects with why it does not. Its project's deletion ends it. */
function begin(
  deps: ExecDeps,
  project: ProjectRow,
  wanted: ExecWish,
  io: ExecStreams,
  context: RequestContext,
  signal: AbortSignal,
): Promise<Begun> {
  const deletion = new AbortController()
  const stopListening = onDeletion(deps.store, (id) => {
    if (id === project.id) deletion.abort(new ProblemError('aborted', 'The project is being deleted.'))
  })
  const orDeleted = (error: unknown) => {
    throw deletion.signal.aborted ? deletion.signal.reason : error
  }
  const begun = start(deps, project, wanted, io, context, AbortSignal.any([signal, deletion.signal]))
    .then(({ process, ended }) => ({ process, ended: ended.catch(orDeleted) }))
    .catch(orDeleted)
  void begun
    .then(({ ended }) => ended)
    .catch(() => undefined)
    .finally(stopListening)
  return begun
}

async function start(
  { store, engine, resolver, filesOf, reveal }: ExecDeps,
  project: ProjectRow,
  wanted: ExecWish,
  io: ExecStreams,
  context: RequestContext,
  signal: AbortSignal,
): Promise<Begun> {
  refuseUnready(await store.projects.find(project.id))
  const environment = environmentFor(placesOf(await resolver.commands(project)), wanted.workload)
  await refuseStopped(environment, project.id, engine, signal)
  const env = { ...environment.env, ...wanted.env }
  const argv = await withProgram(wanted.argv, { ...environment, env }, () => filesOf(project))
  const entry = {
    action: 'exec.run',
    target: project.slug,
    project: project.id,
    // Arguments are left out: people type passwords there.
    changes: { after: { program: basename(argv[0]), arguments: argv.length - 1, workload: environment.name } },
  } as const
  const note = (outcome: 'success' | 'failure') =>
    store.transaction((tx) => tx.audit.append(context.audit({ ...entry, outcome })))
  // Before it starts: nothing runs that could not be written down.
  await note('success')
  const started = Promise.withResolvers<Started>()
  const ended = engine.commands.exec(
    { project: project.id, argv, cwd: environment.cwd, env, data: [], stop, ...containerOf(environment) },
    { ...io, started: started.resolve },
    { signal, reveal },
  )
  // Whoever only waits for the start must not leave its end unheard.
  ended.catch(started.reject)
  try {
    return { process: await started.promise, ended }
  } catch (error) {
    await note('failure').catch(() => undefined)
    throw error
  }
}

/** A program that runs. `ended` is how it went on. */
export interface Begun {
  readonly process: Started
  readonly ended: Promise<Exit>
}

type Started = Parameters<NonNullable<ExecIo['started']>>[0]

/** Null when the socket closed first. */
async function firstFrame(asked: Promise<ExecWish>, signal: AbortSignal): Promise<ExecWish | null> {
  const waited = AbortSignal.any([signal, AbortSignal.timeout(askingMs)])
  const late = Promise.withResolvers<null>()
  waited.addEventListener('abort', () => late.resolve(null), { once: true })
  const wanted = await Promise.race([asked, late.promise])
  if (wanted !== null || signal.aborted) return wanted
  throw new ProblemError('invalid_request', 'No program was named for half a minute.', {
    hint: 'Send {"type":"run","argv":[…]} first.',
  })
}

function readInput(text: string): z.infer<typeof ExecInput> {
  const parsed = ExecInput.safeParse(parsedJson(text))
  if (parsed.success) return parsed.data
  throw new ProblemError(
    'invalid_request',
    `This is no frame of exec: ${parsed.error.issues[0]?.message ?? 'not JSON'}.`,
    {
      hint: 'Send {"type":"run","argv":[…]}, then {"type":"eof"} or {"type":"signal","signal":"SIGINT"}; input as binary frames.',
    },
  )
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Lines between a program and a reader: one line waits at most, so that the program is as fast as the reader. */
function createLineQueue(signal: AbortSignal) {
  let waiting: string[] = []
  let last: string | null = null
  let changed = Promise.withResolvers<void>()
  const tell = () => {
    changed.resolve()
    changed = Promise.withResolvers<void>()
  }
  signal.addEventListener('abort', tell, { once: true })
  return {
    put: async (line: string) => {
      if (line === '') return
      waiting.push(line)
      tell()
      while (waiting.length > 0 && !signal.aborted) await changed.promise
    },
    end: (line: string) => {
      last = line
      tell()
    },
    async *lines(): AsyncGenerator<string> {
      while (!signal.aborted) {
        const lines = waiting
        waiting = []
        tell()
        if (lines.length > 0) yield lines.join('')
        else if (last !== null) return yield last
        else await changed.promise
      }
    },
  }
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

const stdoutMark = Buffer.of(1)
const stderrMark = Buffer.of(2)
const stop = { signal: 'SIGTERM', deadlineSeconds: 3 } as const
const askingMs = 30_000
