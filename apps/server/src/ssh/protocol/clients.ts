import type { Socket } from 'node:net'
import type ssh2Module from 'ssh2'
import type { Connection } from 'ssh2'
import { allCiphers, common, hasQuickCiphers, quickCiphers } from './ciphers.ts'
import { type Client, type ClientWires, serveClient } from './client.ts'
import type { ToProtocol, WithHandle } from './messages.ts'

/** The connections of this process. */
export interface Clients {
  begin(ssh2: typeof ssh2Module, told: Extract<ToProtocol, { is: 'begin' }>): void
  told(message: Exclude<ToProtocol, { is: 'begin' }>): void
  given(message: WithHandle, handle: Socket | undefined): void
}

/** How long the other side has to take an end before it is cut off. */
const endingMs = 500

interface Peer {
  readonly id: number
  readonly socket: Socket
  connection: Connection | null
  client: Client | null
}

export function createClients(link: Pick<ClientWires, 'send' | 'open' | 'forget'>): Clients {
  const peers = new Map<number, Peer>()
  const byAddress = new Map<string, Peer>()
  /** What waits for a word of the service: of this connection, or of this channel. */
  const asks: ClientWires['asks'] = new Map()
  const channels: ClientWires['channels'] = new Map()
  const numbers = { ask: 0, channel: 0 }
  const wires: ClientWires = {
    ...link,
    asks,
    channels,
    nextAsk: () => numbers.ask++,
    nextChannel: () => numbers.channel++,
  }
  /** What is handed over comes another way than the first message, and may overtake it. */
  const begun = Promise.withResolvers<(socket: Socket) => void>()

  const arrive: Arrive = (connection, address, software) => {
    const peer = byAddress.get(address)
    if (peer === undefined) return void connection.end()
    peer.connection = connection
    link.send({ is: 'hello', connection: peer.id, software: software.slice(0, 300) })
    peer.client = serveClient(connection, peer.id, wires, () => peer.socket.destroy())
  }

  const accept = (id: number, socket: Socket) => {
    const { remoteAddress, remotePort } = socket
    const gone = () => link.send({ is: 'gone', connection: id })
    if (remoteAddress === undefined || remotePort === undefined) {
      socket.destroy()
      return gone()
    }
    const address = `${remoteAddress} ${remotePort}`
    const peer: Peer = { id, socket, connection: null, client: null }
    peers.set(id, peer)
    byAddress.set(address, peer)
    // Small packets go at once: without it each answer of a transfer waits for the one before.
    socket.setNoDelay(true)
    joinWrites(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      peers.delete(id)
      byAddress.delete(address)
      peer.client?.end()
      gone()
    })
    void begun.promise.then((serve) => serve(socket))
  }

  return {
    begin: (ssh2, told) => {
      const quick = serverOf(ssh2, quickCiphers, told, arrive)
      const all = serverOf(ssh2, allCiphers, told, arrive)
      begun.resolve((socket) => {
        void hasQuickCiphers(socket).then((isQuick) => (isQuick ? quick : all).injectSocket(socket))
      })
    },
    told: (message) => {
      switch (message.is) {
        case 'cut':
          return cut(peers.get(message.connection), message.atOnce)
        case 'decided':
        case 'refused':
          return answered(asks, message)
        case 'exit':
        case 'close':
          return channels.get(message.channel)?.told(message)
        default:
          return message satisfies never
      }
    },
    given: (message, handle) => {
      // It was closed on its way here.
      if (handle === undefined) return
      if (message.is === 'connection') accept(message.connection, handle)
      else handOn(message, handle, wires)
    },
  }
}

type Begin = Extract<ToProtocol, { is: 'begin' }>
type Arrive = (connection: Connection, address: string, software: string) => void

function serverOf(ssh2: typeof ssh2Module, ciphers: typeof allCiphers, { hostKey, version }: Begin, arrive: Arrive) {
  const algorithms = { ...common.algorithms, cipher: [...ciphers] }
  const server = new ssh2.Server({ ...common, hostKeys: [hostKey], ident: `Stackquay_${version}`, algorithms })
  server.on('connection', (connection, { ip, port, header }) =>
    arrive(connection, `${ip} ${port}`, header.versions.software),
  )
  return server
}

function answered(asks: ClientWires['asks'], message: Extract<ToProtocol, { is: 'decided' | 'refused' }>): void {
  const waiting = asks.get(message.ask)
  asks.delete(message.ask)
  waiting?.(message, null)
}

function cut(peer: Peer | undefined, atOnce: boolean): void {
  if (peer === undefined) return
  const { connection, socket } = peer
  if (atOnce || connection === null) return void socket.destroy()
  connection.end()
  setTimeout(() => socket.destroy(), endingMs).unref()
}

/** A socket or a pipe for what waits for it; nobody else has it, so it is closed when nobody waits any more. */
function handOn(
  message: Exclude<WithHandle, { is: 'connection' }>,
  handle: Socket,
  { asks, channels }: Pick<ClientWires, 'asks' | 'channels'>,
): void {
  handle.on('error', () => {})
  if (message.is === 'forward') {
    const waiting = asks.get(message.ask)
    asks.delete(message.ask)
    if (waiting === undefined) handle.destroy()
    waiting?.(null, handle)
    return
  }
  const channel = channels.get(message.channel)
  if (channel === undefined) handle.destroy()
  channel?.given(message.end, handle)
}

/** `ssh2` writes a packet in three parts. What is written in one turn goes to the kernel together, and as one piece while it is little. */
function joinWrites(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const end = socket.end.bind(socket) as (...args: readonly unknown[]) => Socket
  let parts: Buffer[] = []
  let length = 0
  const flush = () => {
    const [joined, size] = [parts, length]
    parts = []
    length = 0
    if (size === 0 || !socket.writable) return
    if (size <= mostCopied) return void write(Buffer.concat(joined, size))
    socket.cork()
    for (const part of joined) write(part)
    socket.uncork()
  }
  socket.write = ((...args: readonly unknown[]) => {
    const [bytes] = args
    if (!Buffer.isBuffer(bytes) || args.length > 1) {
      flush()
      return write(...args)
    }
    if (parts.length === 0) process.nextTick(flush)
    parts.push(bytes)
    length += bytes.length
    return !socket.writableNeedDrain
  }) as typeof socket.write
  socket.end = ((...args: readonly unknown[]) => {
    flush()
    return end(...args)
  }) as typeof socket.end
}

const mostCopied = 4096
