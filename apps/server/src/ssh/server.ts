import type { ChildProcess } from 'node:child_process'
import { createServer, type Server, type Socket } from 'node:net'
import { networkOf } from '../access/throttle.ts'
import { type ConnectionDeps, type OpenConnection, serveConnection } from './connection.ts'
import type { HostKey } from './host-key.ts'
import { type ProtocolProcess, superviseProtocol } from './protocol/process.ts'

/** Whether people can connect, for those who ask. */
export type SshState =
  | { readonly kind: 'off' }
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'not_listening'; readonly reason: string }

export interface SshServer {
  /** Never rejects: the service does its other work without it, and says why. */
  listen(): Promise<void>
  state(): SshState
  /** Ends the connections of a project. */
  endOf(project: string): void
  /** Ends all connections. Terminals go on. */
  close(): Promise<void>
}

export interface SshServerDeps extends ConnectionDeps {
  readonly address: { readonly host: string; readonly port: number } | null
  readonly hostKey: HostKey
  readonly version: string
  /** Starts the process that speaks SSH. */
  startProtocol(): Promise<ChildProcess>
  /** Who has the port, in words. */
  usedBy(port: number): Promise<string>
}

interface Peer {
  readonly id: number
  readonly network: string
  readonly by: ProtocolProcess
  readonly open: OpenConnection
  isCut: boolean
}

/** Connections of whoever did not come in yet: few, and each for half a minute. */
const mostStrangers = 100
const mostOfNetwork = 30
const strangerMs = 30_000
const mostConnections = 500
/** How long a connection may take to end; then the process that has it hangs, and is ended. */
const cuttingMs = 3000
/** The process stays for the next connection this long. */
const idleMs = 60_000

export function createSshServer(deps: SshServerDeps): SshServer {
  const { address, onError } = deps
  const peers = new Map<number, Peer>()
  let state: SshState =
    address === null ? { kind: 'off' } : { kind: 'not_listening', reason: 'It does not listen yet.' }
  let listener: Server | null = null
  let [next, arriving, closing] = [0, 0, false]
  const holder = createProtocolHolder(deps, peers, () => arriving === 0)
  const cut = (peer: Peer, atOnce: boolean) => {
    peer.isCut = true
    peer.by.cut(peer.id, atOnce)
    setTimeout(() => {
      if (peers.get(peer.id) === peer) peer.by.fault('it did not end a connection')
    }, cuttingMs).unref()
  }
  const accept = async (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isFull(peers, arriving, networkOf(remoteAddress))) return void socket.destroy()
    socket.on('error', () => socket.destroy())
    arriving += 1
    const by = await holder.running().finally(() => {
      arriving -= 1
    })
    if (socket.destroyed || closing) {
      socket.destroy()
      return holder.rest()
    }
    const id = next++
    const wires = by.wiresOf(id, () => cut(peer, false))
    const ip = remoteAddress.replace(/^::ffff:(?=\d+\.)/i, '')
    const open = serveConnection(ip, wires, deps)
    const peer: Peer = { id, network: networkOf(remoteAddress), by, open, isCut: false }
    peers.set(id, peer)
    by.give(id, socket)
    setTimeout(() => {
      if (peers.has(id) && !peer.open.isIn()) cut(peer, true)
    }, strangerMs).unref()
  }

  return {
    async listen() {
      if (address === null) return
      const server = createServer({ pauseOnConnect: true }, (socket) => {
        accept(socket).catch((error: unknown) => {
          onError(error, 'starting the process that speaks SSH')
          socket.destroy()
        })
      })
      const error = await bind(server, address)
      if (error !== null) {
        const why =
          error.code === 'EADDRINUSE'
            ? `is used by ${await deps.usedBy(address.port)}`
            : `cannot be used (${error.code})`
        state = { kind: 'not_listening', reason: `The address ${address.host}:${address.port} ${why}.` }
        return
      }
      server.on('error', (later) => onError(later, 'listening for SSH'))
      listener = server
      const bound = server.address()
      state = { kind: 'listening', port: typeof bound === 'object' && bound !== null ? bound.port : address.port }
    },
    state: () => state,
    endOf: (project) => {
      for (const peer of peers.values()) if (peer.open.project() === project) cut(peer, true)
    },
    async close() {
      closing = true
      const server = listener
      listener = null
      const closed = server === null ? null : new Promise<void>((resolve) => void server.close(() => resolve()))
      await holder.close()
      await closed
    },
  }
}

async function bind(
  server: Server,
  address: NonNullable<SshServerDeps['address']>,
): Promise<NodeJS.ErrnoException | null> {
  const failed = Promise.withResolvers<NodeJS.ErrnoException | null>()
  server.once('error', failed.resolve)
  server.listen({ ...address, exclusive: true }, () => failed.resolve(null))
  return failed.promise
}

/** The process of the protocol: begun with a connection, ended some time after the last. */
interface ProtocolHolder {
  running(): Promise<ProtocolProcess>
  /** Ends it after a while when nobody is connected. */
  rest(): void
  close(): Promise<void>
}

function createProtocolHolder(
  deps: SshServerDeps,
  peers: Map<number, Peer>,
  nobodyArrives: () => boolean,
): ProtocolHolder {
  let current: Promise<ProtocolProcess> | null = null
  let idle: NodeJS.Timeout | undefined
  let closing = false
  const end = async () => {
    const old = current
    current = null
    await old?.then((one) => one.end()).catch(() => undefined)
  }
  const rest = () => {
    if (peers.size > 0 || !nobodyArrives() || closing) return
    clearTimeout(idle)
    idle = setTimeout(() => void end(), idleMs).unref()
  }
  const leave = (peer: Peer) => {
    if (!peers.delete(peer.id)) return
    peer.open.gone()
    rest()
  }
  const start = async (isCurrent: () => boolean): Promise<ProtocolProcess> => {
    const own: ProtocolProcess = superviseProtocol(await deps.startProtocol(), {
      hostKey: deps.hostKey.privateKey(),
      version: deps.version,
      on: (message) => {
        const peer = peers.get(message.connection)
        if (peer === undefined || peer.by !== own) return
        if (message.is === 'gone') leave(peer)
        // Of one that is being cut nothing more is done.
        else if (!peer.isCut || message.is === 'closed' || message.is === 'goodbye') peer.open.take(message)
      },
      onEnd: (why) => {
        if (isCurrent()) current = null
        for (const peer of [...peers.values()]) if (peer.by === own) leave(peer)
        if (why !== null && !closing) deps.onError(new Error(why), 'the process that speaks SSH')
      },
    })
    return own
  }
  return {
    running: () => {
      clearTimeout(idle)
      if (current !== null) return current
      const starting = start(() => current === starting)
      current = starting
      starting.catch(() => {
        if (current === starting) current = null
      })
      return starting
    },
    rest,
    close: async () => {
      closing = true
      clearTimeout(idle)
      await end()
    },
  }
}

function isFull(peers: ReadonlyMap<number, Peer>, arriving: number, network: string): boolean {
  if (peers.size + arriving >= mostConnections) return true
  const strangers = [...peers.values()].filter(({ open }) => !open.isIn())
  return (
    strangers.length + arriving >= mostStrangers ||
    strangers.filter((one) => one.network === network).length + arriving >= mostOfNetwork
  )
}
