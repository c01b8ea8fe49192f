import type { Http2Server, ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'

/** HTTP/2 of the page and the API: the same requests, answered by the same app. */
export interface Http2Side {
  accept(socket: TLSSocket): void
  /** Sessions end when their requests have. */
  close(): void
}

export function createHttp2Side(app: FastifyInstance): Http2Side {
  const { createServer } = process.getBuiltinModule('node:http2')
  const sessions = new Set<ServerHttp2Session>()
  const server: Http2Server = createServer({ settings: { maxConcurrentStreams: 128 }, maxSessionMemory: 10 })
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    // Requests that wait go on; no new ones come on this connection.
    session.setTimeout(idleMs, () => session.close())
    session.on('error', () => session.destroy())
  })
  server.on('request', (request, response) => {
    // What HTTP/1.1 calls it, and what all that reads it looks for. An authority counts more than a header (RFC 9113, section 8.3.1).
    const authority = request.headers[':authority']
    if (authority !== undefined) request.headers.host = authority
    app.server.emit('request', request, response)
  })
  return {
    accept: (socket) => void server.emit('connection', socket),
    close: () => {
      for (const session of sessions) session.close()
    },
  }
}

const idleMs = 75_000
