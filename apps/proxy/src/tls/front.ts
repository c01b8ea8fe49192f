import { createServer, type Server, type Socket } from 'node:net'
import type { ProxyCertificates } from '../certificates.ts'
import type { TlsRules } from '../tls-rules.ts'
import type { Terminator, TerminatorOptions } from './terminator.ts'

export interface GivenCertificates {
  readonly certificates: ProxyCertificates
  /** Of session tickets, the same in all processes. */
  readonly ticketKeys: Buffer
  /** Where https is listened at; null: nowhere. */
  readonly port: number | null
}

/**
 * The listener for https of one process. It listens from the start, so that nobody else can take its port; TLS is loaded with the
 * first certificate. Without one a connection is closed. A process that was not told yet whether there are any lets connections
 * wait for that: they came while one proxy takes over from another.
 */
export interface TlsFront {
  /** Not listening yet. */
  readonly server: Server
  /**
   * Every handshake that begins after it resolves is made with these; connections that are open stay open. Answers what they mean for
   * requests, or null when that is nothing.
   */
  use(given: GivenCertificates): Promise<TlsRules | null>
  /** Accepts nothing new; those that wait are closed. */
  stop(): void
  /** Ends connections by HTTP/2 that have no request. */
  closeIdle(): void
  closeAll(): void
}

export interface TlsFrontOptions extends TerminatorOptions {
  /** An accepted connection, which counts until it ends. */
  onConnection(socket: Socket): void
}

/** Connections that wait for the first word about certificates. */
const mostWaiting = 1_000

export function createTlsFront({ onConnection, ...options }: TlsFrontOptions): TlsFront {
  const { limits } = options
  /** With the function that takes it out again. */
  const waiting = new Map<Socket, () => void>()
  let isTold = false
  let terminator: Terminator | null = null

  const server = createServer({ noDelay: true }, (socket) => {
    onConnection(socket)
    socket.on('error', () => socket.destroy())
    if (!isTold && waiting.size < mostWaiting) wait(socket)
    else enter(socket)
  })
  server.maxConnections = limits.connections

  const wait = (socket: Socket) => {
    const late = setTimeout(() => socket.destroy(), limits.handshakeWithin)
    const leave = () => {
      clearTimeout(late)
      waiting.delete(socket)
    }
    waiting.set(socket, leave)
    socket.once('close', leave)
  }
  const enter = (socket: Socket) => {
    if (terminator === null) socket.destroy()
    else terminator.accept(socket)
  }
  let last: Promise<unknown> = Promise.resolve()
  const take = async ({ certificates: all, ticketKeys, port }: GivenCertificates): Promise<TlsRules | null> => {
    const { certificates, http01, tlsAlpn01 } = all
    if ((certificates.length > 0 || tlsAlpn01.length > 0) && terminator === null) {
      const { createTerminator } = await import('./terminator.ts')
      terminator = createTerminator(options)
    }
    await terminator?.use(all, ticketKeys)
    const isSilent = certificates.length === 0 && http01.length === 0
    const policy = isSilent ? null : new (await import('./policy.ts')).TlsPolicy(all, port)
    isTold = true
    for (const [socket, leave] of [...waiting]) {
      leave()
      socket.off('close', leave)
      if (!socket.destroyed) enter(socket)
    }
    return policy
  }

  return {
    server,
    use(given) {
      // One after the other: the last one asked for is the one in use.
      const next = last.then(() => take(given))
      last = next.catch(() => {})
      return next
    },
    stop() {
      server.close()
      for (const socket of waiting.keys()) socket.destroy()
      terminator?.stop()
    },
    closeIdle: () => terminator?.closeIdle(),
    closeAll: () => terminator?.closeAll(),
  }
}
