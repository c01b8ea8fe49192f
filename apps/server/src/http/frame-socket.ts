import { type ProblemError, problemKinds, problemOf } from '@stackquay/contract'
import { WebSocket } from 'ws'
import type { FrameSocket } from './handler.ts'

/** A WebSocket as handlers see it, and the ways the door ends it. */
export interface OpenSocket extends FrameSocket {
  /** Sends an error frame, then closes with 4000 + the problem's status. */
  fail(error: ProblemError): void
  /** 1000: all was said. 1001: the service stops. */
  close(code: 1000 | 1001): void
}

export function openFrameSocket(socket: WebSocket, requestId: string): OpenSocket {
  const controller = new AbortController()
  const { signal } = controller
  let seq = 0
  let unanswered = 0

  const beat = setInterval(() => {
    // Two unanswered pings: the peer is gone, or has read nothing for more than half a minute.
    if (unanswered++ >= 2) socket.terminate()
    else socket.ping()
  }, pingMilliseconds)

  socket.on('pong', () => {
    unanswered = 0
  })
  socket.on('close', () => {
    clearInterval(beat)
    controller.abort()
  })
  // What goes wrong on the wire ends in 'close', which is all that anybody needs to know.
  socket.on('error', () => socket.terminate())

  return {
    signal,
    async send(frame) {
      if (signal.aborted || socket.readyState !== WebSocket.OPEN) throw gone()
      seq = typeof frame.seq === 'number' ? frame.seq : seq + 1
      const { type, ...fields } = frame
      const text = JSON.stringify({ type, seq, ...fields })
      if (socket.bufferedAmount < highWater) socket.send(text)
      else await flushed(text)
    },
    fail(error) {
      if (socket.readyState === WebSocket.OPEN) {
        socket.send(JSON.stringify({ type: 'error', seq: seq + 1, problem: problemOf(error, { requestId }) }))
      }
      end(4000 + problemKinds[error.code].status, error.code)
    },
    close: (code) => end(code, ''),
  }

  /** Waits until this frame, and all before it, left for the network. */
  function flushed(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => reject(gone())
      signal.addEventListener('abort', leave, { once: true })
      socket.send(text, (error) => {
        signal.removeEventListener('abort', leave)
        if (error) reject(gone())
        else resolve()
      })
    })
  }

  /** A peer that does not answer the closing handshake is cut off; the handler stops at once either way. */
  function end(code: number, reason: string): void {
    controller.abort()
    socket.close(code, reason)
    setTimeout(() => socket.terminate(), closingMilliseconds).unref()
  }
}

/** Thrown by `send` when the reader is gone; ends a handler without being an error. */
export class SocketGoneError extends Error {
  override readonly name = 'SocketGoneError'
}

function gone(): SocketGoneError {
  return new SocketGoneError('The reader of the stream is gone.')
}

const pingMilliseconds = 20_000
const closingMilliseconds = 1000
const highWater = 256 * 1024
