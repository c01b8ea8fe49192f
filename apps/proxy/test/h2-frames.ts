import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { secureSocket } from './tls-support.ts'

export const kinds = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const

export function frame(kind: keyof typeof kinds, flags: number, stream: number, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(body.length, 0, 3)
  head[3] = kinds[kind]
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, body])
}

const asIs = (text: string) => {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  // RFC 7541, 5.1.
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

/** A field that is in no table, spelled out. */
export function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), asIs(name), asIs(value)])
}

/** GET or POST of `/` by https, from the static table. */
export function requestFields(method: 'GET' | 'POST' = 'GET', host = 'shop.localhost'): Buffer {
  return Buffer.concat([Buffer.from([method === 'GET' ? 0x82 : 0x83, 0x84, 0x87, 0x01]), asIs(host)])
}

export const endStream = 1
export const endHeaders = 4

/** A connection on which every frame is decided by the test. */
export async function rawH2(t: TestContext, port: number) {
  const socket: TLSSocket = await secureSocket(port, { ALPNProtocols: ['h2'] })
  let received = Buffer.alloc(0)
  let isClosed = false
  const closed = new Promise<void>((resolve) =>
    socket.once('close', () => {
      isClosed = true
      resolve()
    }),
  )
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]).subarray(-100_000)
  })
  t.after(() => socket.destroy())
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings', 0, 0)]))
  return {
    socket,
    closed,
    get isClosed() {
      return isClosed
    },
    /** Waits while the other side is behind; false when the connection is closed. */
    async send(...frames: readonly Buffer[]): Promise<boolean> {
      if (isClosed || socket.destroyed) return false
      if (socket.write(Buffer.concat(frames))) return true
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
      return !isClosed
    },
    /** Kinds of the frames that came last, as far as they are kept. */
    kinds(): readonly number[] {
      const all: number[] = []
      for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) all.push(received[at + 3]!)
      return all
    },
  }
}
