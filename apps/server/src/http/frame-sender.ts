import { WebSocket } from 'ws'
import type { FrameSocket } from './handler.ts'

/** The kinds of `send` of a stream, and the number that its next frame gets. */
export interface FrameSender extends Pick<FrameSocket, 'send' | 'sendText' | 'sendNumbered' | 'sendBinary'> {
  readonly nextSeq: number
}

export function createFrameSender(socket: WebSocket, signal: AbortSignal): FrameSender {
  let seq = 0

  const refuseGone = () => {
    if (signal.aborted || socket.readyState !== WebSocket.OPEN) throw gone()
  }

  const put = async (data: string | Uint8Array, binary: boolean): Promise<void> => {
    refuseGone()
    if (socket.bufferedAmount < highWater) socket.send(data, { binary })
    else await flushed(socket, signal, data, binary)
  }

  return {
    get nextSeq() {
      return seq + 1
    },
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
      refuseGone()
      socket.send(head, { binary: false, fin: false })
      await put(fields, false)
    },
    sendBinary: (bytes) => put(bytes, true),
  }
}

/** Thrown by `send` when the reader is gone; ends a handler without being an error. */
export class SocketGoneError extends Error {
  override readonly name = 'SocketGoneError'
}

/** Waits until this frame, and all before it, left for the network. */
function flushed(socket: WebSocket, signal: AbortSignal, data: string | Uint8Array, binary: boolean): Promise<void> {
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

function gone(): SocketGoneError {
  return new SocketGoneError('The reader of the stream is gone.')
}

/** Shorter fields are copied: two writes cost more. */
const worthSharing = 4096
const highWater = 256 * 1024
