import { ProblemError } from '@stackquay/contract'
import type { WebSocket } from 'ws'
import type { PeerMessage } from './handler.ts'
import { problemErrorOf } from './problem-answer.ts'

type Handle = (message: PeerMessage) => void | Promise<void>

/** What a peer sends, handed over one after the other to whom asks for it. What goes wrong ends the stream by `fail`. */
export function receiveMessages(
  socket: WebSocket,
  { signal, fail }: { readonly signal: AbortSignal; readonly fail: (error: ProblemError) => void },
): { receive(handler: Handle): void } {
  const arrived: PeerMessage[] = []
  let handle: Handle | null = null
  let handling = false

  /** The peer goes on sending when all were handled. */
  const handOver = async (): Promise<void> => {
    if (handling || handle === null) return
    handling = true
    try {
      while (arrived.length > 0 && !signal.aborted) await handle(arrived.shift()!)
      if (socket.isPaused) socket.resume()
    } catch (error) {
      if (!signal.aborted) fail(problemErrorOf(error))
    } finally {
      handling = false
    }
  }

  socket.on('message', (data: Buffer, isBinary) => {
    // It ends: what the peer says until it hears of that is nobody's.
    if (signal.aborted) return
    arrived.push(isBinary ? { kind: 'binary', bytes: data } : { kind: 'text', text: data.toString() })
    if (handle === null && arrived.length > keptUnasked) {
      fail(new ProblemError('invalid_request', 'This stream takes no messages, or not so many before it began.'))
      return
    }
    // Frames that were read already still come; from then on the peer is held.
    if (handle !== null) socket.pause()
    void handOver()
  })

  return {
    receive(handler) {
      handle = handler
      void handOver()
    },
  }
}

/** Messages that wait for a handler that has not asked for any yet. */
const keptUnasked = 64
