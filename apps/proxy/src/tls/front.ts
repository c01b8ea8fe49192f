import { createServer, type Server, type Socket } from 'node:net'
import type { ProxyCertificates } from '../certificates.ts'
import type { Limits } from '../limits.ts'
import { Handshakes } from './handshakes.ts'
import { type TlsNames, tlsNames } from './names.ts'
import type { Terminator, TerminatorOptions } from './terminator.ts'

/**
 * The listener for https of one process. It listens from the start, so that nobody else can take its port; TLS is loaded with the
 * first certificate. Without one a connection is closed. A process that was not told yet whether there are any lets connections
 * wait for that: they came while one proxy takes over from another.
 */
export interface TlsFront {
  /** Not listening yet. */
  readonly server: Server
  /** Null: not told yet. */
  readonly names: TlsNames | null
  /** Every handshake that begins after it resolves is made with these. Connections that are open stay open. */
  use(certificates: ProxyCertificates, ticketKeys: Buffer): Promise<void>
  /** Accepts nothing new; those that wait are closed. */
  stop(): void
  /** Ends what has no request, at once or when all is to end. */
  closeIdle(): void
  closeAll(): void
}

export interface TlsFrontOptions extends Pick<TerminatorOptions, 'state' | 'onHttp'> {
  readonly limits: Limits
  /** An accepted connection, which counts until it ends. */
  onConnection(socket: Socket): void
}

/** Connections that wait for the first word about certificates. */
const mostWaiting = 1_000

export function createTlsFront({ limits, onConnection, ...options }: TlsFrontOptions): TlsFront {
  const handshakes = new Handshakes({
    many: limits.handshakes / 4,
    most: limits.handshakes,
    ofOne: limits.handshakesOfOne,
  })
  /** With the function that takes it out again. */
  const waiting = new Map<Socket, () => void>()
  let names: TlsNames | null = null
  let terminator: Terminator | null = null
  let isStopped = false

  const server = createServer({ noDelay: true }, (socket) => {
    onConnection(socket)
    socket.on('error', () => socket.destroy())
    if (names === null && !isStopped && waiting.size < mostWaiting) wait(socket)
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
    if (terminator === null || terminator.isIdle) {
      socket.destroy()
      return
    }
    const settled = handshakes.begin(socket)
    if (settled === null) socket.destroy()
    else {
      terminator.accept(socket, settled)
    }
  }
  const letIn = () => {
    for (const [socket, leave] of [...waiting]) {
      leave()
      socket.off('close', leave)
      if (!socket.destroyed) enter(socket)
    }
  }

  let last: Promise<void> = Promise.resolve()
  const take = async (certificates: ProxyCertificates, ticketKeys: Buffer) => {
    const isNeeded = certificates.certificates.length > 0 || certificates.tlsAlpn01.length > 0
    if (isNeeded && terminator === null) {
      const { createTerminator } = await import('./terminator.ts')
      terminator = createTerminator({ ...options, limits })
    }
    await terminator?.use(certificates, ticketKeys)
    names = tlsNames(certificates)
    letIn()
  }

  return {
    server,
    get names() {
      return names
    },
    use(certificates, ticketKeys) {
      // One after the other: the last one asked for is the one in use.
      const next = last.then(() => take(certificates, ticketKeys))
      last = next.catch(() => {})
      return next
    },
    stop() {
      isStopped = true
      server.close()
      for (const socket of waiting.keys()) socket.destroy()
      terminator?.stop()
    },
    closeIdle: () => terminator?.closeIdle(),
    closeAll: () => terminator?.closeAll(),
  }
}
