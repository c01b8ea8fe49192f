import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FrameSocket } from '../http/handler.ts'
import { createSharedChunks } from './shared-chunks.ts'

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
  /** Called when no reader sends or will get these frames any more: their bytes may be used again. Not called when a reader left them. */
  readonly release?: () => void
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
          const held = await chunks.after(position, socket.signal)
          if (held === null) return position
          for (const frame of held.chunk.frames) await put(socket, frame)
          // A reader that is gone may leave its frames on their way.
          if (held.chunk.release !== undefined) socket.flushed().then(held.drop, () => undefined)
          position = held.chunk.to
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

const mostChunks = 4096

function put(socket: FrameSocket, frame: WireFrame): Promise<void> {
  if (frame.kind === 'numbered') return socket.sendNumbered(frame.type, frame.bytes)
  return frame.kind === 'text' ? socket.sendText(frame.bytes) : socket.sendBinary(frame.bytes)
}
