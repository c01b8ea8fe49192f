import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FrameSocket } from '../http/handler.ts'

/** Where reading stands: a sequence number, a byte offset, or a cursor as text. Equal positions have equal content behind them. */
export type Position = number | string

/** What a stream holds, read chunk by chunk. Positions only go forward. */
export interface StreamSource<At extends Position = number> {
  /**
   * The frames after a position, made for the wire, and where reading goes on; waits until there is something. Null when the
   * stream has ended and all of it was read. Throws `ProblemError` when it cannot go on. May be asked for several positions
   * at the same time.
   */
  next(after: At, signal: AbortSignal): Promise<StreamChunk<At> | null>
}

export interface StreamChunk<At extends Position = number> {
  readonly frames: readonly WireFrame[]
  readonly to: At
}

/**
 * A WebSocket message as bytes, made once for all its readers. A numbered one is text without its beginning, `type` and
 * `seq`: each socket puts them in front with its own number.
 */
export type WireFrame =
  | { readonly kind: 'text' | 'binary'; readonly bytes: Buffer }
  | { readonly kind: 'numbered'; readonly type: string; readonly bytes: Buffer }

export function textFrame(frame: { readonly type: string; readonly seq: number }): WireFrame {
  return { kind: 'text', bytes: Buffer.from(JSON.stringify(frame)) }
}

/**
 * Many readers of one stream at the cost of one: a chunk that one reader had made is what the next reader at the same
 * position gets, for as long as it is among the newest. Each reader goes at its own pace; a slow one reads older chunks anew.
 */
export interface Relay<At extends Position = number> {
  /** Sends everything after a position, until the stream ends (then answers the last position), or the socket is gone. */
  send(socket: FrameSocket, after: At): Promise<At>
}

export interface RelayOptions {
  /** How much of what was sent last is held for readers that are a little behind; nothing is for a single reader. */
  readonly keepBytes: number | (() => number)
}

/** Still being made while `bytes` is null. */
interface Entry<At extends Position> {
  readonly made: Promise<StreamChunk<At> | null>
  readonly stop: AbortController
  bytes: number | null
  waiting: number
}

export function createRelay<At extends Position = number>(
  source: StreamSource<At>,
  options: RelayOptions = { keepBytes: 4 << 20 },
): Relay<At> {
  const { keepBytes } = options
  let readers = 0
  const chunks = createSharedChunks(source, {
    /** Nothing is kept for a single reader. */
    keepBytes: () => (readers < 2 ? 0 : typeof keepBytes === 'number' ? keepBytes : keepBytes()),
    most: () => (readers < 2 ? 0 : mostChunks),
  })
  return {
    send: async (socket, after) => {
      let position = after
      readers += 1
      try {
        while (!socket.signal.aborted) {
          const chunk = await chunks.after(position, socket.signal)
          if (chunk === null) return position
          for (const frame of chunk.frames) await put(socket, frame)
          position = chunk.to
          // Chunks that are there already must not keep everybody else waiting.
          await nextTurn()
        }
        return position
      } catch (error) {
        if (socket.signal.aborted) return position
        throw error
      } finally {
        readers -= 1
        chunks.trim()
      }
    },
  }
}

/** Chunks by the position in front of them, each made once while somebody waits for it or it is among the newest. */
function createSharedChunks<At extends Position>(
  source: StreamSource<At>,
  limits: { keepBytes(): number; most(): number },
) {
  /** In the order they were asked for. */
  const chunks = new Map<At, Entry<At>>()
  let kept = 0

  const make = (after: At): Entry<At> => {
    const stop = new AbortController()
    // A source may throw before it answers a promise.
    const made = (async () => source.next(after, stop.signal))()
    const entry: Entry<At> = { made, stop, bytes: null, waiting: 0 }
    chunks.set(after, entry)
    made.then(
      (chunk) => {
        entry.bytes = chunk === null ? 0 : sizeOf(chunk)
        // The end is asked for again: what has ended may be looked at later, when more is known.
        if (chunk === null) chunks.delete(after)
        if (chunks.get(after) !== entry) return
        kept += entry.bytes
        trim()
      },
      // Everybody who waits gets the error; whoever comes later tries anew.
      () => {
        entry.bytes = 0
        if (chunks.get(after) === entry) chunks.delete(after)
      },
    )
    return entry
  }

  const trim = () => {
    const [limit, most] = [limits.keepBytes(), limits.most()]
    for (const [position, entry] of chunks) {
      // Chunks without frames take a place too.
      if (kept <= limit && chunks.size <= most) return
      if (entry.bytes !== null) forget(position, entry)
    }
  }

  const forget = (position: At, entry: Entry<At>) => {
    if (chunks.get(position) !== entry) return
    chunks.delete(position)
    kept -= entry.bytes ?? 0
  }

  return {
    trim,
    after: async (after: At, signal: AbortSignal): Promise<StreamChunk<At> | null> => {
      const entry = chunks.get(after) ?? make(after)
      const leave = Promise.withResolvers<never>()
      const gone = () => leave.reject(signal.reason)
      entry.waiting += 1
      signal.addEventListener('abort', gone, { once: true })
      if (signal.aborted) gone()
      try {
        return await Promise.race([entry.made, leave.promise])
      } finally {
        signal.removeEventListener('abort', gone)
        entry.waiting -= 1
        // Nobody waits for what is still to come: the source is let go.
        if (entry.waiting === 0 && entry.bytes === null) {
          forget(after, entry)
          entry.stop.abort()
        }
      }
    },
  }
}

const mostChunks = 4096

function put(socket: FrameSocket, frame: WireFrame): Promise<void> {
  if (frame.kind === 'numbered') return socket.sendNumbered(frame.type, frame.bytes)
  return frame.kind === 'text' ? socket.sendText(frame.bytes) : socket.sendBinary(frame.bytes)
}

function sizeOf({ frames }: StreamChunk<Position>): number {
  return frames.reduce((sum, frame) => sum + frame.bytes.length, 0)
}
