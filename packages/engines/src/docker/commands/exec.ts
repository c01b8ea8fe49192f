import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { CommandContext, ExecIo, Exit, StopPolicy } from '@stackquay/engine-api'
import { abortedError, throwIfAborted } from '../../native/errors.ts'
import type { Daemon } from '../daemon.ts'
import { asDockerError } from '../errors.ts'
import { type Chunk, createFrameReader } from '../wire/frames.ts'
import { runAlone } from './exec-alone.ts'
import type { Neighbours } from './exec-beside.ts'
import type { ExecProgram, ExecSession } from './exec-session.ts'

/**
 * Runs a program for its caller: in the container that it names while that runs, otherwise in one of its own. Nothing is
 * read ahead of what the caller takes. When the signal aborts, the program is ended and this rejects.
 */
export async function execProgram(
  daemon: Daemon,
  neighbours: Neighbours,
  program: ExecProgram,
  io: ExecIo,
  context: CommandContext,
): Promise<Exit> {
  try {
    throwIfAborted(context.signal)
    const session =
      (await neighbours.run(program, io.stdin !== null, context)) ??
      (await runAlone(daemon, program, io.stdin !== null, context))
    try {
      const exit = await converse(session, program.stop, io, context.signal)
      return { ...exit, at: daemon.now().toISOString() }
    } finally {
      session.stream.destroy()
      await session.dispose()
    }
  } catch (error) {
    throw asDockerError(error, context.signal)
  }
}

async function converse(
  session: ExecSession,
  stop: StopPolicy,
  io: ExecIo,
  signal: AbortSignal,
): Promise<Omit<Exit, 'at'>> {
  const failed = new AbortController()
  const stopped = AbortSignal.any([signal, failed.signal])
  const interrupted = new Promise<'interrupted'>((resolve) => {
    if (stopped.aborted) resolve('interrupted')
    stopped.addEventListener('abort', () => resolve('interrupted'), { once: true })
  })
  const orFail = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      failed.abort(error)
    })
  const introduced = io.started === undefined ? Promise.resolve() : orFail(introduce(session, io))
  const printed = orFail(pump(session, io, introduced, stopped))
  void orFail(feed(io.stdin, session.stream, stopped))
  try {
    const lingers = session.lingers(failed.signal).then(async () => {
      if (!failed.signal.aborted) await session.end(stop)
    })
    lingers.catch(() => {})
    const result = await Promise.race([Promise.all([printed, introduced]), interrupted])
    if (result === 'interrupted' || stopped.aborted) {
      await session.end(stop)
      if (signal.aborted) throw abortedError()
      throw failed.signal.reason
    }
    return await session.exit()
  } finally {
    failed.abort()
  }
}

async function introduce(session: ExecSession, io: ExecIo): Promise<void> {
  const pid = await session.pid()
  if (pid > 0) io.started?.({ pid, signal: (name) => session.signal(name) })
}

async function pump(session: ExecSession, io: ExecIo, introduced: Promise<void>, signal: AbortSignal): Promise<void> {
  const frames = createFrameReader()
  const held: Chunk[] = []
  const handOn = async ({ stream, bytes }: Chunk) => {
    if (!signal.aborted) await io.output(stream, bytes)
  }
  let isFirst = true
  for await (const bytes of session.stream) {
    for (const chunk of frames(bytes as Buffer)) {
      if (isFirst && session.isComplaint(chunk.bytes)) held.push(chunk)
      else if (held.length > 0 && held.length < 8) held.push(chunk)
      else {
        await introduced
        await handOn(chunk)
      }
      isFirst = false
      if (signal.aborted) return
    }
  }
  if (held.length === 0) return
  // Throws when Docker said it; then the caller gets an error instead of this text.
  await session.exit()
  await introduced
  for (const chunk of held) await handOn(chunk)
}

async function feed(stdin: ExecIo['stdin'], to: Socket, signal: AbortSignal): Promise<void> {
  if (stdin === null) return
  for await (const bytes of stdin) {
    if (!to.writable || signal.aborted) return
    if (!to.write(bytes)) await drained(to, signal)
  }
  to.end()
}

/** Also without a reader. Leaves no listener behind: a long input comes here thousands of times. */
async function drained(to: Socket, stopped: AbortSignal): Promise<void> {
  const found = new AbortController()
  const signal = AbortSignal.any([found.signal, stopped])
  await Promise.race([once(to, 'drain', { signal }), once(to, 'close', { signal })]).catch(() => {})
  found.abort()
}
