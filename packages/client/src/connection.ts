import type { Problem } from '@stackquay/contract'
import { socketUrl } from './address.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { ticketed } from './ticket.ts'
import { type ClientOptions, identityHeaders } from './transport.ts'
import { soon } from './wait.ts'

export interface Frame {
  readonly type: string
  readonly seq: number
}
export interface ErrorFrame extends Frame {
  readonly type: 'error'
  readonly problem: Problem
}

/** What is sent while the connection stands. */
export interface Link {
  /** Text, or bytes in frames that the service takes. What is sent on a connection that just broke is lost. */
  send(message: string | Uint8Array): void
  /** Resolves when little of what was sent still waits here, or the connection is gone. */
  room(): Promise<void>
}

/** Frames are handed over in order and one at a time: the next one waits for the promise of the one before. */
export interface Receiver<F extends Frame> {
  readonly onFrame: (frame: Exclude<F, ErrorFrame>) => void | Promise<void>
  readonly onBytes?: (bytes: Uint8Array) => void | Promise<void>
  readonly onLink?: (link: Link) => void
  /** Asked after every frame: true when everything was said, so that the connection does not wait for the other side’s goodbye. */
  readonly hasEnded?: () => boolean
}

export interface ConnectOptions {
  readonly signal: AbortSignal
  readonly onOpen?: () => void
  /**
   * So many bytes are kept for a receiver that is slow. Then a socket that can be paused is; another is closed when
   * `resumable`, because a browser’s would be read without bound.
   */
  readonly keepBytes: number
  readonly resumable: boolean
}

export interface End {
  readonly opened: boolean
  /** Frames beyond the first came: the next try need not be slow. */
  readonly useful: boolean
  /** Closed by us because the receiver was slow; what has come was handed over. */
  readonly held: boolean
  readonly problem: Problem | null
}

/** One WebSocket from its opening until it is closed or the signal aborts. Rejects with whatever the receiver throws. */
export async function connect<F extends Frame>(
  client: ClientOptions,
  path: string,
  receiver: Receiver<F>,
  options: ConnectOptions,
): Promise<End> {
  const unopened: End = { opened: false, useful: false, held: false, problem: null }
  let address: string
  const deadline = soon(client, options.signal)
  try {
    address = await ticketed(client, path, deadline)
  } catch (error) {
    if (deadline.aborted || error instanceof ConnectionError) return unopened
    if (error instanceof ApiError) return { ...unopened, problem: error.problem }
    throw error
  }
  return deadline.aborted ? unopened : converse(client, address, receiver, options, deadline)
}

function converse<F extends Frame>(
  client: ClientOptions,
  path: string,
  receiver: Receiver<F>,
  { signal, onOpen, keepBytes, resumable }: ConnectOptions,
  deadline: AbortSignal,
): Promise<End> {
  const { promise, resolve, reject } = Promise.withResolvers<End>()
  const socket: PausableSocket = open(client, path)
  socket.binaryType = 'arraybuffer'
  const backlog = createBacklog(socket, keepBytes, resumable)
  const handOver = handOverTo(receiver)
  let handling = false
  let opened = false
  let closed = false
  let done = false

  const finish = (act: () => void) => {
    if (done) return
    done = true
    signal.removeEventListener('abort', leave)
    deadline.removeEventListener('abort', late)
    backlog.clear()
    act()
  }
  // Not waiting for the other side's goodbye, which may never come.
  const leave = () => {
    socket.close()
    finish(() => resolve({ opened, held: backlog.isHeld(), ...handOver.result() }))
  }
  const fail = (error: unknown) => {
    socket.close()
    finish(() => reject(error))
  }
  signal.addEventListener('abort', leave, { once: true })
  const late = () => opened || leave()
  deadline.addEventListener('abort', late, { once: true })

  const work = async (first: Promise<void>) => {
    handling = true
    try {
      await first
      if (receiver.hasEnded?.()) leave()
      for (let data = backlog.next(); data !== undefined && !done; data = backlog.next()) {
        await handOver.one(data)
        if (receiver.hasEnded?.()) leave()
        backlog.resume()
      }
    } catch (error) {
      fail(error)
    } finally {
      handling = false
    }
    if (closed) leave()
  }

  socket.addEventListener('open', () => {
    if (done) return
    opened = true
    onOpen?.()
    receiver.onLink?.(linkOver(socket))
  })
  socket.addEventListener('message', (event: MessageEvent<Message>) => {
    // What comes after we gave up on a slow receiver comes again on the next connection.
    if (done || backlog.isHeld()) return
    if (handling) return backlog.add(event.data)
    try {
      const handled = handOver.one(event.data)
      if (handled !== undefined) void work(handled)
      else if (receiver.hasEnded?.()) leave()
    } catch (error) {
      fail(error)
    }
  })
  // Libraries that offer the WebSocket class on Node end the process at an error without a listener; close follows anyway.
  socket.addEventListener('error', () => {})
  socket.addEventListener('close', () => {
    closed = true
    if (!handling) leave()
  })
  return promise
}

type Message = string | ArrayBuffer

/** Gives messages to the receiver and keeps what they say about the connection. */
function handOverTo<F extends Frame>(receiver: Receiver<F>) {
  let useful = false
  let problem: Problem | null = null
  return {
    one(data: Message): void | Promise<void> {
      if (typeof data !== 'string') {
        useful = true
        return receiver.onBytes?.(new Uint8Array(data))
      }
      const frame = JSON.parse(data) as F
      if (isError(frame)) {
        problem = frame.problem
        return undefined
      }
      useful ||= frame.type !== 'start'
      return receiver.onFrame(frame as Exclude<F, ErrorFrame>)
    },
    result: () => ({ useful, problem }),
  }
}

/** Messages that wait for a slow receiver. Too many pause the socket, or close it when it cannot be paused. */
function createBacklog(socket: PausableSocket, keepBytes: number, resumable: boolean) {
  const waiting: Message[] = []
  let waitingBytes = 0
  let paused = false
  let held = false
  return {
    /** Closed because the receiver was slow. */
    isHeld: () => held,
    add(data: Message): void {
      waiting.push(data)
      waitingBytes += sizeOf(data)
      if (waitingBytes <= keepBytes || paused) return
      if (socket.pause !== undefined && socket.resume !== undefined) {
        paused = true
        socket.pause()
      } else if (resumable) {
        held = true
        socket.close()
      }
    },
    next(): Message | undefined {
      const data = waiting.shift()
      if (data !== undefined) waitingBytes -= sizeOf(data)
      return data
    },
    resume(): void {
      if (!paused || waitingBytes >= keepBytes / 2) return
      paused = false
      socket.resume!()
    },
    clear(): void {
      waiting.length = 0
    },
  }
}

/** Sockets of the library `ws` can be paused; those of browsers cannot. */
interface PausableSocket extends WebSocket {
  pause?(): void
  resume?(): void
}

function open(client: ClientOptions, path: string): WebSocket {
  const WebSocket = client.WebSocket ?? globalThis.WebSocket
  const url = socketUrl(client.baseUrl, path)
  // A browser sends its session cookie by itself and knows no second argument of this form.
  if (client.token === undefined && client.userAgent === undefined) return new WebSocket(url)
  const withHeaders = WebSocket as unknown as new (url: string, init: { headers: Record<string, string> }) => WebSocket
  return new withHeaders(url, { headers: identityHeaders(client) })
}

function linkOver(socket: WebSocket): Link {
  const isOpen = () => socket.readyState === 1
  return {
    send(message) {
      if (!isOpen()) return
      if (typeof message === 'string') return socket.send(message)
      for (let from = 0; from < message.length; from += frameBytes)
        socket.send(message.slice(from, from + frameBytes) as Uint8Array<ArrayBuffer>)
    },
    // No WebSocket API tells when there is room again, so this looks.
    async room() {
      while (isOpen() && socket.bufferedAmount > sendAhead) await new Promise((resolve) => setTimeout(resolve, 2))
    },
  }
}

function sizeOf(data: Message): number {
  return typeof data === 'string' ? data.length : data.byteLength
}

function isError(frame: Frame): frame is ErrorFrame {
  return frame.type === 'error'
}

/** The service takes no messages above 64 KiB. */
const frameBytes = 32 * 1024
const sendAhead = 512 * 1024
