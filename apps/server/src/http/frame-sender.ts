import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { FrameSocket } from './handler.ts'

/** The kinds of `send` of a stream, and the number that its next frame gets. */
export interface FrameSender
  extends Pick<FrameSocket, 'send' | 'sendText' | 'sendNumbered' | 'sendBinary' | 'flushed'> {
  readonly nextSeq: number
}

export function createFrameSender(socket: WebSocket, connection: Duplex, signal: AbortSignal): FrameSender {
  const gather = gatherWrites(connection)
  let seq = 0
  let last: Promise<void> = Promise.resolve()

  const write = (data: string | Uint8Array, options: { readonly binary: boolean; readonly fin?: boolean }) => {
    if (signal.aborted || socket.readyState !== WebSocket.OPEN) throw gone()
    gather()
    last = new Promise((resolve, reject) => {
      socket.send(data, options, (error) => (error ? reject(gone()) : resolve()))
    })
    // Told to whom waits for it.
    last.catch(() => undefined)
  }

  const put = async (data: string | Uint8Array, binary: boolean): Promise<void> => {
    const isFull = socket.bufferedAmount >= highWater
    write(data, { binary })
    if (isFull) await orGone(last, signal)
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
      write(head, { binary: false, fin: false })
      await put(fields, false)
    },
    sendBinary: (bytes) => put(bytes, true),
    flushed: () => orGone(last, signal),
  }
}

/** Thrown by `send` when the reader is gone; ends a handler without being an error. */
export class SocketGoneError extends Error {
  override readonly name = 'SocketGoneError'
}

/** Called before each frame: those that are sent in one turn of the event loop leave in one write, which costs less than several. */
function gatherWrites(connection: Duplex): () => void {
  let isGathering = false
  const end = () => {
    isGathering = false
    connection.uncork()
  }
  return () => {
    if (isGathering) return
    isGathering = true
    connection.cork()
    process.nextTick(end)
  }
}

/** Until this has left for the network, and all before it. */
async function orGone(left: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const leave = () => reject(gone())
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  try {
    await Promise.race([left, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function gone(): SocketGoneError {
  return new SocketGoneError('The reader of the stream is gone.')
}

/** Shorter fields are copied: two writes cost more. */
const worthSharing = 4096
const highWater = 256 * 1024
