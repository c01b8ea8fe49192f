import type { ExecFrame, execSignals } from '@stackquay/contract'
import { fillPath } from './address.ts'
import { connect, type Link } from './connection.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { routes } from './routes.ts'
import { type ClientOptions, request, shownUrl } from './transport.ts'

export type ExecSignal = (typeof execSignals)[number]
export type ExecEnd = Extract<ExecFrame, { type: 'exit' }>

export interface ExecCommand {
  /** A program and its arguments; no shell reads them. */
  readonly argv: readonly string[]
  /** Whose environment: a runtime. The project’s first unless given. */
  readonly workload?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

export interface ExecOptions {
  /** Ends the program when it aborts. */
  readonly signal: AbortSignal
  /** Read no faster than the program takes it; empty unless given. */
  readonly stdin?: AsyncIterable<Uint8Array>
  /**
   * Bytes as the program wrote them. While a promise is open the program is held back, where the WebSocket class can be
   * paused (that of `ws` can; with a browser’s, everything that comes is kept until it is taken).
   */
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void | Promise<void>
  readonly onStart?: (pid: number) => void
}

export interface ExecSession {
  /** Sends a signal to the program and what it started; before it runs, as soon as it does. */
  kill(signal: ExecSignal): void
  /** How the program ended; null when the signal aborted first. Rejects when it could not run or the connection broke. */
  readonly ended: Promise<ExecEnd | null>
}

/** Runs a program in the environment of a runtime. It lives as long as the connection: the service ends what no client waits for. */
export function exec(client: ClientOptions, project: string, command: ExecCommand, options: ExecOptions): ExecSession {
  const { argv, workload, env } = command
  const over = new AbortController()
  const signals: ExecSignal[] = []
  let opened: Link | null = null
  let running: Link | null = null
  let end: ExecEnd | null = null
  const line = JSON.stringify({ type: 'run', argv, workload, env })
  const tell = (name: ExecSignal) => running?.send(JSON.stringify({ type: 'signal', signal: name }))

  const run = async (): Promise<ExecEnd | null> => {
    // The service closes a connection on which more comes at once, and the reason would be lost.
    if (new TextEncoder().encode(line).length > mostBytes) throw tooLong()
    const { promise: inputFailed, reject } = Promise.withResolvers<never>()
    const connected = connect<ExecFrame>(
      client,
      fillPath(routes.watchExec.path, { id: project }),
      {
        onLink: (link) => {
          opened = link
          link.send(line)
        },
        onFrame: (frame) => {
          if (frame.type === 'exit') end = frame
          if (frame.type !== 'start' || opened === null) return
          running = opened
          options.onStart?.(frame.pid)
          for (const name of signals.splice(0)) tell(name)
          pump(running, options.stdin, AbortSignal.any([over.signal, options.signal])).catch(reject)
        },
        onBytes: (bytes) => options.onOutput(bytes[0] === 2 ? 'stderr' : 'stdout', bytes.subarray(1)),
        hasEnded: () => end !== null,
      },
      { signal: AbortSignal.any([over.signal, options.signal]), keepBytes, resumable: false },
    )
    try {
      const { problem, opened: wasOpen } = await Promise.race([connected, inputFailed])
      if (end !== null || options.signal.aborted) return end
      if (problem !== null) {
        if (problem.status === 401) client.onUnauthorized?.()
        throw new ApiError(problem)
      }
      // The same right opens the list of terminals, and plain HTTP tells why it is refused.
      if (!wasOpen) {
        const path = fillPath(routes.listTerminals.path, { id: project })
        await request(client, { ...routes.listTerminals, path }, { signal: options.signal })
      }
      throw connectionLost(client)
    } finally {
      over.abort()
    }
  }

  return {
    kill(name) {
      if (running === null) signals.push(name)
      else tell(name)
    },
    ended: run(),
  }
}

/** Standard input, no faster than it is taken; whatever it is waiting for, it is left when the program has ended. */
async function pump(link: Link, stdin: AsyncIterable<Uint8Array> | undefined, over: AbortSignal): Promise<void> {
  const input = stdin?.[Symbol.asyncIterator]()
  const { promise: left, resolve } = Promise.withResolvers<IteratorReturnResult<undefined>>()
  const leave = () => resolve({ done: true, value: undefined })
  over.addEventListener('abort', leave, { once: true })
  while (input !== undefined && !over.aborted) {
    const next = await Promise.race([input.next(), left])
    if (next.done === true) break
    link.send(next.value)
    await link.room()
  }
  over.removeEventListener('abort', leave)
  if (!over.aborted) link.send(JSON.stringify({ type: 'eof' }))
}

function tooLong(): ApiError {
  return new ApiError({
    type: 'about:blank',
    title: 'The command is too long',
    status: 413,
    code: 'too_large',
    detail: 'Arguments and variables of the program are more than 60 kB together.',
    hint: 'Give what is large on standard input or in a file.',
    retryable: false,
  })
}

function connectionLost(client: ClientOptions): ConnectionError {
  return new ConnectionError(shownUrl(client), {
    detail: 'The connection was lost while the program ran, and the service ends a program whose caller is gone.',
    hint: 'Check that the service runs. What must survive that is a terminal or an action.',
  })
}

/** A reader that stands still, such as a pager, is no reason to hold the program before this much. */
const keepBytes = 16 * 1024 * 1024
const mostBytes = 60_000
