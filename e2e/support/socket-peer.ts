import { WebSocket } from 'ws'
import { type Service, until } from './service.ts'

/** The other end of a terminal or an exec over a WebSocket. */
export interface Peer {
  readonly socket: WebSocket
  readonly chunks: Buffer[]
  bytes(): Buffer
  type(text: string): void
  send(message: object): void
  // biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every kind.
  frame(type: string): Promise<any>
  match(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>
  close(): void
}

/** `path`: below /api/v1. */
export async function connect(service: Service, path: string): Promise<Peer> {
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/api/v1${path}`, {
    headers: { authorization: `Bearer ${service.token}` },
  })
  const chunks: Buffer[] = []
  // biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every kind.
  const frames: any[] = []
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) chunks.push(data)
    else frames.push(JSON.parse(data.toString()))
  })
  const opened = Promise.withResolvers<void>()
  socket.on('open', opened.resolve)
  socket.on('error', opened.reject)
  await opened.promise
  const bytes = () => Buffer.concat(chunks)
  const shown = () => `${JSON.stringify(frames)} ${JSON.stringify(bytes().subarray(-500).toString())}`
  const wait = async (look: () => boolean, what: string, withinMs?: number) => {
    await until(async () => look() || socket.readyState === WebSocket.CLOSED, what, withinMs).catch((error: Error) => {
      throw new Error(`${error.message}: ${shown()}`)
    })
    if (!look()) throw new Error(`the socket closed before ${what}: ${shown()}`)
  }
  return {
    socket,
    chunks,
    bytes,
    type: (text) => socket.send(Buffer.from(text)),
    send: (message) => socket.send(JSON.stringify(message)),
    frame: async (type) => {
      await wait(() => frames.some((frame) => frame.type === type), `a frame "${type}"`)
      return frames.find((frame) => frame.type === type)
    },
    match: async (pattern, withinMs) => {
      await wait(() => pattern.test(bytes().toString()), `output like ${pattern}`, withinMs)
      return pattern.exec(bytes().toString())!
    },
    close: () => socket.terminate(),
  }
}
