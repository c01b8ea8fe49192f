import type { Duplex } from 'node:stream'
import { type ProblemError, problemKinds, problemOf } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { createFrameSender } from './frame-sender.ts'
import type { FrameSocket } from './handler.ts'
import { watchHeartbeat } from './heartbeat.ts'
import { receiveMessages } from './peer-messages.ts'

/** A WebSocket as handlers see it, and the ways the app ends it. */
export interface OpenSocket extends FrameSocket {
  /** Sends an error frame, then closes with 4000 + the problem's status. */
  fail(error: ProblemError): void
  /** 1000: all was said. 1001: the service stops. */
  close(code: 1000 | 1001): void
}

/** `connection` is what the WebSocket runs over. */
export function openFrameSocket(socket: WebSocket, connection: Duplex, requestId: string): OpenSocket {
  const controller = new AbortController()
  const { signal } = controller
  const sender = createFrameSender(socket, connection, signal)

  /** A peer that does not answer the closing handshake is cut off; the handler stops at once either way. */
  const end = (code: number, reason: string) => {
    controller.abort()
    socket.close(code, reason)
    setTimeout(() => socket.terminate(), closingMilliseconds).unref()
  }
  const fail = (error: ProblemError) => {
    if (socket.readyState === WebSocket.OPEN) {
      const problem = problemOf(error, { requestId })
      socket.send(JSON.stringify({ type: 'error', seq: sender.nextSeq, problem }))
    }
    end(4000 + problemKinds[error.code].status, error.code)
  }

  watchHeartbeat(socket)
  socket.on('close', () => controller.abort())
  // What goes wrong on the wire ends in 'close', which is all that anybody needs to know.
  socket.on('error', () => socket.terminate())
  const { receive } = receiveMessages(socket, { signal, fail })
  const { send, sendText, sendNumbered, sendBinary, flushed } = sender
  return { signal, send, sendText, sendNumbered, sendBinary, flushed, receive, fail, close: (code) => end(code, '') }
}

const closingMilliseconds = 1000
