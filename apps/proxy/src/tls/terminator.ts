import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import type { ProxyCertificate, ProxyCertificates, TlsAlpn01Answer } from '../certificates.ts'
import type { Limits } from '../limits.ts'
import type { ProxyState } from '../state.ts'
import { ByName } from './by-name.ts'
import { longestClientHello, readClientHello } from './client-hello.ts'
import { Handshakes } from './handshakes.ts'
import { createHttp2, type Http2 } from './http2.ts'
import { rememberCertificate } from './names.ts'
import { createTlsServers, type Pair, SecureContexts } from './secure-server.ts'

/** Ends TLS: what comes in encrypted goes on to HTTP/1.1 or HTTP/2, by what was agreed on with the client. */
export interface Terminator {
  accept(socket: Socket): void
  use(certificates: ProxyCertificates, ticketKeys: Buffer): Promise<void>
  stop(): void
  closeIdle(): void
  closeAll(): void
}

export interface TerminatorOptions {
  readonly limits: Limits
  readonly state: ProxyState
  /** HTTP/1.1 over TLS: the same server as for plain connections. */
  onHttp(socket: TLSSocket): void
}

interface Entry {
  readonly certificate: ProxyCertificate
  readonly context: SecureContext
}

export function createTerminator({ limits, state, onHttp }: TerminatorOptions): Terminator {
  const contexts = new SecureContexts()
  const handshakes = new Handshakes({
    many: limits.handshakes / 4,
    most: limits.handshakes,
    ofOne: limits.handshakesOfOne,
  })
  let entries = new ByName<Entry>([])
  let challenges = new ByName<SecureContext>([])
  let hasChallenges = false
  /** There is nothing that it could answer with. */
  let isIdle = true
  let http2: Http2 | null = null
  /** By the peer: TLS makes another socket of the one that it gets. */
  const unsettled = new Map<string, () => void>()

  const servers = createTlsServers(limits, {
    contextOf: (name) => entries.get(name)?.context,
    challengeOf: (name) => challenges.get(name),
    onSecure(socket) {
      unsettled.get(peerOf(socket))?.()
      const entry = typeof socket.servername === 'string' ? entries.get(socket.servername.toLowerCase()) : undefined
      // A session that goes on from before may be of a name that has no certificate any more.
      if (entry === undefined) {
        socket.destroy()
        return
      }
      rememberCertificate(socket, entry.certificate)
      if (socket.alpnProtocol === 'h2') {
        http2 ??= createHttp2(state)
        http2.accept(socket)
      } else onHttp(socket)
    },
  })
  const secure = (socket: Socket, settled: () => void, isChallenge: boolean) => {
    const peer = peerOf(socket)
    const settle = () => {
      if (unsettled.get(peer) === settle) unsettled.delete(peer)
      settled()
    }
    unsettled.set(peer, settle)
    socket.once('close', settle)
    servers.accept(socket, isChallenge)
  }

  return {
    accept(socket) {
      const settled = isIdle ? null : handshakes.begin(socket)
      if (settled === null) {
        socket.destroy()
        return
      }
      socket.once('close', settled)
      if (!hasChallenges) {
        secure(socket, settled, false)
        return
      }
      whenSaid(socket, limits.handshakeWithin, (isChallenge) => secure(socket, settled, isChallenge))
    },
    async use({ certificates, tlsAlpn01 }, ticketKeys) {
      const made = await contexts.of([...certificates, ...tlsAlpn01])
      const contextOf = (pair: Pair) => made.get(pair)!
      entries = new ByName(
        certificates.flatMap((certificate) =>
          certificate.names.map((name) => [name, { certificate, context: contextOf(certificate) }] as const),
        ),
      )
      challenges = new ByName(tlsAlpn01.map((one: TlsAlpn01Answer) => [one.name, contextOf(one)] as const))
      hasChallenges = tlsAlpn01.length > 0
      isIdle = certificates.length === 0 && !hasChallenges
      servers.useTicketKeys(ticketKeys)
    },
    stop: () => http2?.stop(),
    closeIdle: () => http2?.closeIdle(),
    closeAll: () => http2?.closeAll(),
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Looks at the first message before TLS does: only it tells who validates a name from who wants a page. Nothing is taken away. */
function whenSaid(socket: Socket, within: number, goOn: (isChallenge: boolean) => void): void {
  let said = Buffer.alloc(0)
  const late = setTimeout(() => socket.destroy(), within)
  const onReadable = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null)
      said = Buffer.concat([said, chunk])
    const hello = said.length === 0 ? 'incomplete' : readClientHello(said)
    if (hello === 'incomplete' && said.length < longestClientHello) return
    leave()
    socket.unshift(said)
    goOn(hello !== null && hello !== 'incomplete' && hello.protocols.includes('acme-tls/1'))
  }
  const leave = () => {
    clearTimeout(late)
    socket.off('readable', onReadable).off('close', leave)
  }
  socket.on('readable', onReadable).once('close', leave)
}
