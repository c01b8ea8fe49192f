import type { Http2Server, ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket, Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { tlsRules } from './cipher-rules.ts'

/** A chain with its key, as PEM. The same object for as long as both are the same. */
export interface PageCertificate {
  readonly certificate: string
  readonly key: string
  /** Whoever opens the page over plain HTTP is led here. Never for one that browsers may not trust. */
  readonly redirect: boolean
  /** `max-age` of Strict-Transport-Security, which holds for all ports of the name; null for none. */
  readonly hstsSeconds: number | null
}

export interface PageCertificates {
  /** For the name that a client asks for, or for one that names none; null: the page has no certificate. */
  contextFor(name: string | null): PageCertificate | null
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
    if (certificates.contextFor(null) === null) return acceptPlain(socket)
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    firstByteOf(socket, (byte) => (byte === tlsHandshake ? secure.accept(socket) : acceptPlain(socket)))
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, socket } = request.raw
    const one = certificates.contextFor(hostName(headers.host))
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
  const contexts = new WeakMap<PageCertificate, SecureContext>()
  const sessions = new Set<ServerHttp2Session>()
  let tlsServer: TlsServer | null = null
  let h2Server: Http2Server | null = null
  let shown: PageCertificate | null = null
  let shownAt = 0

  return {
    accept(socket) {
      const certificate = certificates.contextFor(null)
      // It was taken away since the first byte.
      if (certificate === null) return void socket.destroy()
      tlsServer ??= createTlsServer()
      if (certificate !== shown || Date.now() - shownAt > ticketKeysMs) {
        tlsServer.setSecureContext({ ...tlsRules, cert: certificate.certificate, key: certificate.key })
        shown = certificate
        shownAt = Date.now()
      }
      tlsServer.emit('connection', socket)
    },
    close() {
      for (const session of sessions) session.close()
    },
  }

  function createTlsServer(): TlsServer {
    const { createServer, createSecureContext } = process.getBuiltinModule('node:tls')
    const contextOf = (one: PageCertificate) => {
      const known = contexts.get(one)
      if (known !== undefined) return known
      const made = createSecureContext({ ...tlsRules, cert: one.certificate, key: one.key })
      contexts.set(one, made)
      return made
    }
    const made = createServer({
      ...tlsRules,
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: firstByteMs,
      SNICallback: (name, done) => {
        const one = certificates.contextFor(name.toLowerCase())
        done(null, one === null ? undefined : contextOf(one))
      },
    })
    made.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol !== 'h2') return acceptPlain(socket)
      h2Server ??= createH2Server()
      h2Server.emit('connection', socket)
    })
    // Scanners and clients that do not know the certificate: theirs to tell.
    made.on('tlsClientError', (_error, socket) => socket.destroy())
    return made
  }

  function createH2Server(): Http2Server {
    const { createServer } = process.getBuiltinModule('node:http2')
    const made = createServer({ settings: { maxConcurrentStreams: 128 }, maxSessionMemory: 10 })
    made.on('session', (session) => {
      sessions.add(session)
      session.once('close', () => sessions.delete(session))
      // Requests that wait go on; no new ones come on this connection.
      session.setTimeout(idleMs, () => session.close())
      session.on('error', () => session.destroy())
    })
    made.on('request', (request, response) => {
      // What HTTP/1.1 calls it, and what all that reads it looks for. An authority counts more than a header (RFC 9113, section 8.3.1).
      const authority = request.headers[':authority']
      if (authority !== undefined) request.headers.host = authority
      app.server.emit('request', request, response)
    })
    return made
  }
}

/** Resumed sessions are as secret as the key of their tickets, so it lives for a day. */
const ticketKeysMs = 24 * 60 * 60 * 1000
const idleMs = 75_000
const closingMs = 2_000
