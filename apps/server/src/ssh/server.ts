import { createServer, type Server, type Socket } from 'node:net'
import type { CipherAlgorithm, Connection, ServerConfig } from 'ssh2'
import { networkOf } from '../access/throttle.ts'
import { type ConnectionDeps, type OpenConnection, serveConnection } from './connection.ts'
import type { HostKey } from './host-key.ts'

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
  /** Who has the port, in words. */
  usedBy(port: number): Promise<string>
}

interface Peer {
  readonly socket: Socket
  readonly network: string
  open: OpenConnection | null
}

/** Connections of whoever did not come in yet: few, and each for half a minute. */
const mostStrangers = 100
const mostOfNetwork = 30
const strangerMs = 30_000
const mostConnections = 500
/** How long the other side has to take an end before it is cut off. */
const endingMs = 500
/** How long a client has to say its name before it is answered without. */
const speakingMs = 300

export function createSshServer(deps: SshServerDeps): SshServer {
  const { address, onError } = deps
  const peers = new Map<string, Peer>()
  let state: SshState =
    address === null ? { kind: 'off' } : { kind: 'not_listening', reason: 'It does not listen yet.' }
  let listener: Server | null = null
  /** `ssh2` is loaded by the first connection. */
  let protocol: Promise<(socket: Socket) => void> | null = null

  const accept = (socket: Socket) => {
    const { remoteAddress: ip, remotePort } = socket
    if (ip === undefined || remotePort === undefined || isFull(peers, networkOf(ip))) return void socket.destroy()
    const key = `${ip} ${remotePort}`
    const peer: Peer = { socket, network: networkOf(ip), open: null }
    peers.set(key, peer)
    // Small packets go at once: without it each answer of a transfer waits for the one before.
    socket.setNoDelay(true)
    joinWrites(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      peers.delete(key)
      peer.open?.socketGone.abort()
    })
    setTimeout(() => peer.open?.isIn() !== true && socket.destroy(), strangerMs).unref()
    protocol ??= loadProtocol(deps, (ip, port) => peers.get(`${ip} ${port}`))
    protocol
      .then((serve) => serve(socket))
      .catch((error: unknown) => {
        protocol = null
        onError(error, 'loading SSH')
        socket.destroy()
      })
  }

  return {
    async listen() {
      if (address === null) return
      const server = createServer(accept)
      const failed = Promise.withResolvers<NodeJS.ErrnoException | null>()
      server.once('error', failed.resolve)
      server.listen({ ...address, exclusive: true }, () => failed.resolve(null))
      const error = await failed.promise
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
      for (const peer of peers.values()) if (peer.open?.project() === project) peer.socket.destroy()
    },
    async close() {
      for (const { socket } of peers.values()) socket.destroy()
      const server = listener
      listener = null
      if (server !== null) await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

/** `ssh2` writes a packet in three parts. What is written in one turn goes to the kernel together. */
function joinWrites(socket: Socket): void {
  let isJoining = false
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const end = () => {
    isJoining = false
    socket.uncork()
  }
  socket.write = ((...args: readonly unknown[]) => {
    if (!isJoining) {
      isJoining = true
      socket.cork()
      process.nextTick(end)
    }
    return write(...args)
  }) as typeof socket.write
}

function isFull(peers: ReadonlyMap<string, Peer>, network: string): boolean {
  if (peers.size >= mostConnections) return true
  const strangers = [...peers.values()].filter(({ open }) => open?.isIn() !== true)
  return strangers.length >= mostStrangers || strangers.filter((one) => one.network === network).length >= mostOfNetwork
}

async function loadProtocol(
  deps: SshServerDeps,
  peerAt: (ip: string, port: number) => Peer | undefined,
): Promise<(socket: Socket) => void> {
  const { default: ssh2 } = await import('ssh2')
  const serverOf = (cipher: readonly CipherAlgorithm[]) => {
    const algorithms = { ...common.algorithms, cipher: [...cipher] }
    const own = { hostKeys: [deps.hostKey.privateKey()], ident: `Stackquay_${deps.version}` }
    const server = new ssh2.Server({ ...common, ...own, algorithms })
    server.on('connection', (connection: Connection, { ip, port, header }) => {
      const peer = peerAt(ip, port)
      if (peer === undefined) return void connection.end()
      const { socket } = peer
      const cut = () => {
        connection.end()
        setTimeout(() => socket.destroy(), endingMs).unref()
      }
      peer.open = serveConnection(connection, { ip: plain(ip), software: header.versions.software }, cut, deps)
    })
    return server
  }
  const quick = serverOf(quickCiphers)
  const all = serverOf([...quickCiphers, ...otherCiphers])
  return (socket) => void hasQuickCiphers(socket).then((isQuick) => (isQuick ? quick : all).injectSocket(socket))
}

/**
 * The client’s order of ciphers decides, and OpenSSH puts those first that are the slowest here. It is offered the quick ones alone; it has had
 * them since 2013. A client that waits for us to speak first is offered all.
 */
async function hasQuickCiphers(socket: Socket): Promise<boolean> {
  const spoken = Promise.withResolvers<Buffer | null>()
  const read = () => spoken.resolve(socket.read() as Buffer | null)
  const timer = setTimeout(() => spoken.resolve(null), speakingMs)
  socket.once('readable', read)
  socket.once('close', () => spoken.resolve(null))
  const first = await spoken.promise
  clearTimeout(timer)
  socket.off('readable', read)
  if (first === null) return false
  socket.unshift(first)
  return first.subarray(0, 16).toString('latin1') === 'SSH-2.0-OpenSSH_'
}

function plain(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, '')
}

const quickCiphers: readonly CipherAlgorithm[] = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com']
const otherCiphers: readonly CipherAlgorithm[] = [
  'aes128-ctr',
  'aes192-ctr',
  'aes256-ctr',
  'chacha20-poly1305@openssh.com',
]

/** What clients of the last ten years have; nothing with SHA-1. */
const common = {
  algorithms: {
    kex: [
      'curve25519-sha256',
      'curve25519-sha256@libssh.org',
      'ecdh-sha2-nistp256',
      'ecdh-sha2-nistp384',
      'ecdh-sha2-nistp521',
      'diffie-hellman-group-exchange-sha256',
      'diffie-hellman-group16-sha512',
      'diffie-hellman-group14-sha256',
    ],
    hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
    compress: ['none'],
  },
  keepaliveInterval: 15_000,
  keepaliveCountMax: 3,
} satisfies Pick<ServerConfig, 'algorithms' | 'keepaliveInterval' | 'keepaliveCountMax'>
