import type { TerminalFrame } from '@stackquay/contract'
import { fillPath, queryString } from './address.ts'
import type { ErrorFrame, Link } from './connection.ts'
import { type FollowOptions, follow } from './follow.ts'
import { routes } from './routes.ts'
import { type ClientOptions, request } from './transport.ts'

export type TerminalStep = Exclude<TerminalFrame, ErrorFrame>
export type TerminalEnd = Extract<TerminalFrame, { type: 'exit' }>

export interface FollowTerminalOptions extends FollowOptions {
  /** Byte offset to go on from; all that is kept unless given. */
  readonly after?: number
  readonly cols?: number
  readonly rows?: number
  /** Output as it came, each byte once. The next chunk waits for a promise. */
  readonly onOutput: (bytes: Uint8Array) => void | Promise<void>
  /** `start` comes with every connection: its `seq` is the offset of the bytes that follow. `gap`: some are not kept any more. */
  readonly onFrame?: (frame: TerminalStep) => void
}

export interface TerminalSession {
  /**
   * Keystrokes. While there is no connection they wait, in order and up to 64 KB; false when that was too much and these
   * were dropped: ring the bell. None is ever sent twice; those that were on their way when the connection broke may be
   * lost, as on a line that goes dead.
   */
  send(bytes: Uint8Array): boolean
  /** The size that holds from now on, also for connections to come. */
  resize(cols: number, rows: number): void
  /** How its program ended; null when the signal aborted first, and the terminal goes on. Rejects like every stream. */
  readonly ended: Promise<TerminalEnd | null>
}

/** Connects to a terminal, and again whenever the connection is lost: same terminal, same scrollback, no byte twice. */
export function followTerminal(
  client: ClientOptions,
  project: string,
  term: string,
  options: FollowTerminalOptions,
): TerminalSession {
  const params = { id: project, term }
  let after = options.after
  let size =
    options.cols === undefined || options.rows === undefined ? null : { cols: options.cols, rows: options.rows }
  let reportedSize = size
  let opened: Link | null = null
  let ready: Link | null = null
  let end: TerminalEnd | null = null
  const typed = createTyped()

  const catchUp = () => {
    ready = opened
    if (size !== null && !isSame(size, reportedSize)) reportSize(size)
    for (const bytes of typed.take()) ready?.send(bytes)
  }
  const reportSize = (now: Size) => {
    reportedSize = now
    ready?.send(JSON.stringify({ type: 'resize', ...now }))
  }
  const following = follow<TerminalFrame>(
    client,
    {
      path: () => {
        ready = null
        reportedSize = size
        return fillPath(routes.watchTerminal.path, params) + queryString({ after, ...size })
      },
      onLink: (link) => {
        opened = link
      },
      onFrame: (frame) => {
        if (frame.type === 'start' || frame.type === 'gap') after = frame.seq
        options.onFrame?.(frame)
        if (frame.type === 'start') catchUp()
        if (frame.type === 'exit') end = frame
      },
      onBytes: (bytes) => {
        const taken = options.onOutput(bytes)
        // Counted when it was taken: what is still being written when the connection breaks is not asked for again.
        const count = () => {
          after = (after ?? 0) + bytes.length
        }
        return taken === undefined ? count() : taken.then(count)
      },
      hasEnded: () => end !== null,
      explain: (signal) => {
        const wanted = { ...routes.getTerminal, path: fillPath(routes.getTerminal.path, params) }
        return request(client, wanted, { signal })
      },
      recover: ({ status }) => {
        if (status !== 410 || after === undefined) return false
        after = undefined
        return true
      },
    },
    {
      signal: options.signal,
      onState: (state) => {
        if (state !== 'live') ready = null
        options.onState?.(state)
      },
    },
  )

  return {
    ended: following.then(() => end),
    send(bytes) {
      if (ready === null) return typed.add(bytes)
      ready.send(bytes)
      return true
    },
    resize(cols, rows) {
      size = { cols, rows }
      if (ready !== null && !isSame(size, reportedSize)) reportSize(size)
    },
  }
}

/** Keystrokes that wait for a connection. */
function createTyped() {
  const typed: Uint8Array[] = []
  let typedBytes = 0
  return {
    /** False when it is too much. */
    add(bytes: Uint8Array): boolean {
      if (typedBytes + bytes.length > mostTyped) return false
      typed.push(bytes.slice())
      typedBytes += bytes.length
      return true
    },
    take(): readonly Uint8Array[] {
      typedBytes = 0
      return typed.splice(0)
    },
  }
}

interface Size {
  readonly cols: number
  readonly rows: number
}

function isSame(a: Size, b: Size | null): boolean {
  return b !== null && a.cols === b.cols && a.rows === b.rows
}

const mostTyped = 64 * 1024
