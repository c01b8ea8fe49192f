import type { Http2Server, Http2Session, ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'

/** HTTP/2 of the page and the API: the same requests, answered by the same app. */
export interface Http2Side {
  accept(socket: TLSSocket): void
  /** Sessions end when their requests have. */
  close(): void
}

export function createHttp2Side(app: FastifyInstance): Http2Side {
  const { createServer, constants } = process.getBuiltinModule('node:http2')
  const sessions = new Map<Http2Session, TLSSocket>()
  let accepting: TLSSocket | null = null
  const server: Http2Server = createServer({ settings: { maxConcurrentStreams: 32 }, maxSessionMemory: 10 })
  server.on('session', (session: ServerHttp2Session) => {
    sessions.set(session, accepting!)
    session.once('close', () => sessions.delete(session))
    // Requests that wait go on; no new ones come on this connection.
    session.setTimeout(idleMs, () => session.close())
    session.on('error', () => session.destroy())
  })
  server.on('request', (request, response) => {
    const { stream, headers } = request
    const socket = sessions.get(stream.session!)
    if (socket === undefined) {
      stream.destroy()
      return
    }
    // Its own knows nothing any more once the stream was reset: neither who it was nor that it spoke TLS.
    Object.defineProperty(request, 'socket', { value: socket })
    // What HTTP/1.1 calls it, and what all that reads it looks for. An authority counts more than a header (RFC 9113, section 8.3.1).
    const authority = headers[':authority']
    if (authority !== undefined) headers.host = authority
    // A body without a length is one all the same.
    if (!stream.endAfterHeaders && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
    // Whoever gives up a body means its sender too; of HTTP/1.1 that ends the connection.
    request.once('close', () => {
      if (!request.complete) stream.close(constants.NGHTTP2_CANCEL)
    })
    app.server.emit('request', request, response)
  })
  return {
    accept: (socket) => {
      // Kept by the socket from now on.
      void socket.remoteAddress
      accepting = socket
      // It emits the session before it returns.
      server.emit('connection', socket)
      accepting = null
    },
    close: () => {
      for (const session of sessions.keys()) session.close()
    },
  }
}

const idleMs = 75_000
