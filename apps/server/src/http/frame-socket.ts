import { ProblemError, problemKinds, problemOf } from '@stackquay/contract'
import { WebSocket } from 'ws'
import type { FrameSocket, PeerMessage } from './handler.ts'
import { problemErrorOf } from './problem-answer.ts'

/** A WebSocket as handlers see it, and the ways the app ends it. */
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
  const arrived: PeerMessage[] = []
  let handle: ((message: PeerMessage) => void | Promise<void>) | null = null
  let handling = false

  const beat = setInterval(() => {
    // Whoever is held by us cannot be heard. What is sent to one that is gone still fails: nothing else would tell.
    if (!socket.isPaused) unanswered += 1
    // Two unanswered pings: the peer is gone, or has read nothing for more than half a minute.
    if (unanswered > 2) socket.terminate()
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
  socket.on('message', (data: Buffer, isBinary) => {
    // It ends: what the peer says until it hears of that is nobody's.
    if (signal.aborted) return
    arrived.push(isBinary ? { kind: 'binary', bytes: data } : { kind: 'text', text: data.toString() })
    if (handle === null && arrived.length > keptUnasked) {
      opened.fail(new ProblemError('invalid_request', 'This stream takes no messages, or not so many before it began.'))
      return
    }
    // Frames that were read already still come; from then on the peer is held.
    if (handle !== null) socket.pause()
    void handOver()
  })

  const opened: OpenSocket = {
    signal,
    async send(frame) {
      seq = typeof frame.seq === 'number' ? frame.seq : seq + 1
      const { type, ...fields } = frame
      await put(JSON.stringify({ type, seq, ...fields }), false)
    },
    sendText: (text) => put(text, false),
    async sendNumbered(type, fields) {
      seq += 1
      const head = `{"type":${JSON.stringify(type)},"seq":${seq},`
      if (fields.length < worthSharing) return put(Buffer.concat([Buffer.from(head), fields]), false)
      // Two fragments of one message: the long one is the same bytes for all readers. Both leave before anything else can.
      if (signal.aborted || socket.readyState !== WebSocket.OPEN) throw gone()
      socket.send(head, { binary: false, fin: false })
      await put(fields, false)
    },
    sendBinary: (bytes) => put(bytes, true),
    receive(handler) {
      handle = handler
      void handOver()
    },
    fail(error) {
      if (socket.readyState === WebSocket.OPEN) {
        socket.send(JSON.stringify({ type: 'error', seq: seq + 1, problem: problemOf(error, { requestId }) }))
      }
      end(4000 + problemKinds[error.code].status, error.code)
    },
    close: (code) => end(code, ''),
  }
  return opened

  /** One message after the other; the peer goes on sending when all were handled. */
  async function handOver(): Promise<void> {
    if (handling || handle === null) return
    handling = true
    try {
      while (arrived.length > 0 && !signal.aborted) await handle(arrived.shift()!)
      if (socket.isPaused) socket.resume()
    } catch (error) {
      if (!signal.aborted) opened.fail(problemErrorOf(error))
    } finally {
      handling = false
    }
  }

  async function put(data: string | Uint8Array, binary: boolean): Promise<void> {
    if (signal.aborted || socket.readyState !== WebSocket.OPEN) throw gone()
    if (socket.bufferedAmount < highWater) socket.send(data, { binary })
    else await flushed(data, binary)
  }

  /** Waits until this frame, and all before it, left for the network. */
  function flushed(data: string | Uint8Array, binary: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => reject(gone())
      signal.addEventListener('abort', leave, { once: true })
      socket.send(data, { binary }, (error) => {
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

/** Shorter fields are copied: two writes cost more. */
const worthSharing = 4096
const pingMilliseconds = 20_000
const closingMilliseconds = 1000
const highWater = 256 * 1024
/** Messages that wait for a handler that has not asked for any yet. */
const keptUnasked = 64
