import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket, Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { tlsRules } from './cipher-rules.ts'
import { createHttp2Side, type Http2Side } from './http2-side.ts'

/** What a client is shown for the name that it asks for. */
export interface ShownCertificate {
  /** The chain, as PEM. */
  readonly certificate: string
  /** Its key, as PEM. */
  key(): Promise<string>
  /** Whoever opens the page over plain HTTP by that name is led here. Never for one that browsers may not trust. */
  readonly redirect: boolean
  /** `max-age` of Strict-Transport-Security, which holds for all ports of the name; null for none. */
  readonly hstsSeconds: number | null
}

export interface PageCertificates {
  /** Whether TLS is spoken at all. Asked for every connection, as the other is. */
  any(): boolean
  /** Null for a client that names none; null where there is nothing to show. */
  shownFor(name: string | null): ShownCertificate | null
}

/**
 * The page and the API speak TLS at the address where they speak plain HTTP: the first byte of a connection tells which it is. So a
 * certificate that comes or changes opens no port and ends no connection, and who knows the old address is not lost.
 *
 * Nothing of TLS or HTTP/2 is loaded before a certificate is there. HTTP/1.1 over TLS goes through the same server as without, with its
 * limits; HTTP/2 through one beside it. WebSockets come over HTTP/1.1: browsers open a connection of their own for them.
 */
export function securePage(app: FastifyInstance, certificates: PageCertificates): void {
  const { server } = app
  const plainListeners = server.listeners('connection')
  const acceptPlain = (socket: Socket) => {
    for (const listener of plainListeners) listener.call(server, socket)
  }
  const secure = createSecureSide(app, certificates, acceptPlain)
  const open = new Set<Socket>()
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (!certificates.any()) return acceptPlain(socket)
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    firstByteOf(socket, (byte) => (byte === tlsHandshake ? secure.accept(socket) : acceptPlain(socket)))
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, socket } = request.raw
    const one = certificates.any() ? certificates.shownFor(hostName(headers.host)) : null
    if (one === null) return done()
    if ('encrypted' in socket) {
      if (one.hstsSeconds !== null) reply.header('strict-transport-security', `max-age=${one.hstsSeconds}`)
      return done()
    }
    // Programs go on as they are; behind a proxy that speaks TLS the browser is there already.
    const isNavigation =
      request.method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && request.raw.url?.[0] === '/'
    if (!one.redirect || !isNavigation || headers['x-forwarded-proto'] !== undefined) return done()
    reply.redirect(`https://${headers.host}${request.raw.url}`, 308)
  })
  app.addHook('preClose', (done) => {
    secure.close()
    // Those of a handshake that never ends, and of HTTP/2, are none that the server of HTTP/1.1 knows to cut off.
    setTimeout(() => {
      for (const socket of open) socket.destroy()
    }, closingMs).unref()
    done()
  })
}

function hostName(host = ''): string | null {
  return URL.parse(`http://${host}`)?.hostname ?? null
}

/** RFC 8446, section 5.1: the type of the record that begins every connection of TLS; no method of HTTP begins with it. */
const tlsHandshake = 22

/** As long as a client has for its headers. */
const firstByteMs = 15_000

/** Reads nothing: what arrived stays in the socket for whoever takes it over. */
function firstByteOf(socket: Socket, then: (byte: number) => void): void {
  const end = () => socket.destroy()
  const timer = setTimeout(end, firstByteMs)
  const look = () => {
    const chunk = socket.read() as Buffer | null
    clearTimeout(timer)
    // A peer that ends before it said anything.
    if (chunk === null) return end()
    socket.off('error', end)
    socket.unshift(chunk)
    then(chunk[0]!)
  }
  socket.on('error', end)
  socket.once('close', () => clearTimeout(timer))
  socket.once('readable', look)
}

interface SecureSide {
  accept(socket: Socket): void
  /** Sessions of HTTP/2 end when their requests have. */
  close(): void
}

function createSecureSide(
  app: FastifyInstance,
  certificates: PageCertificates,
  acceptPlain: (socket: Socket) => void,
): SecureSide {
  /** By chain. */
  const contexts = new Map<string, Promise<SecureContext>>()
  let tlsServer: TlsServer | null = null
  let h2: Http2Side | null = null
  let usual: string | null = null
  let usualAt = 0

  return {
    accept(socket) {
      tlsServer ??= createTlsServer()
      const server = tlsServer
      const shown = certificates.shownFor(null)
      if (shown === null) {
        // One that was deleted, or has ended, is shown to nobody any more.
        if (usual !== null) server.setSecureContext({ ...tlsRules })
        usual = null
        return void server.emit('connection', socket)
      }
      if (shown.certificate === usual && Date.now() - usualAt < ticketKeysMs)
        return void server.emit('connection', socket)
      const end = () => socket.destroy()
      socket.on('error', end)
      shown
        .key()
        .then((key) => {
          server.setSecureContext({ ...tlsRules, cert: shown.certificate, key })
          usual = shown.certificate
          usualAt = Date.now()
          socket.off('error', end)
          server.emit('connection', socket)
        })
        .catch(() => socket.destroy())
    },
    close() {
      h2?.close()
    },
  }

  function createTlsServer(): TlsServer {
    const { createServer, createSecureContext } = process.getBuiltinModule('node:tls')
    const contextOf = ({ certificate, key }: ShownCertificate) => {
      const known = contexts.get(certificate)
      if (known !== undefined) return known
      // Those of before a renewal are not asked for again.
      if (contexts.size >= mostContexts) contexts.clear()
      const making = key().then((text) => createSecureContext({ ...tlsRules, cert: certificate, key: text }))
      contexts.set(certificate, making)
      making.catch(() => contexts.delete(certificate))
      return making
    }
    const made = createServer({
      ...tlsRules,
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: firstByteMs,
      SNICallback: (name, done) => {
        const shown = certificates.shownFor(name.toLowerCase())
        if (shown === null) return done(null)
        contextOf(shown).then(
          (context) => done(null, context),
          (error: Error) => done(error),
        )
      },
    })
    made.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol !== 'h2') return acceptPlain(socket)
      h2 ??= createHttp2Side(app)
      h2.accept(socket)
    })
    // Scanners and clients that do not know the certificate: theirs to tell.
    made.on('tlsClientError', (_error, socket) => socket.destroy())
    return made
  }
}

/** Resumed sessions are as secret as the key of their tickets, so it lives for a day. */
const ticketKeysMs = 24 * 60 * 60 * 1000
const mostContexts = 20
const closingMs = 2_000
