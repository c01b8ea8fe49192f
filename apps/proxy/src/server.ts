import type { Server } from 'node:http'
import { forward } from './forward.ts'
import { createServer } from './node-http.ts'
import type { ProxyState } from './state.ts'
import { upgrade } from './upgrade.ts'

/**
 * The public side. What is no well-formed HTTP/1.1 never gets past Node's strict parser: both lengths, two lengths, bare
 * line feeds, folded headers and oversized heads end with 400 or 431 and the connection.
 */
export function createPublicServer(state: ProxyState): Server {
  const { limits } = state
  const server = createServer(
    {
      insecureHTTPParser: false,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersWithin,
      // Would also end long uploads; a body that stands still is ended by `bodyIdle`.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(5_000, limits.headersWithin),
      keepAliveTimeout: limits.keepAlive,
      noDelay: true,
      optimizeEmptyRequests: true,
      // Missing and doubled hosts are both answered in `request-context.ts`.
      requireHostHeader: false,
      // `h2c` is an offer that may be passed over; an upgrade with a body is none that a tunnel can keep apart.
      shouldUpgradeCallback: (request) =>
        request.method === 'GET' &&
        request.headers.upgrade?.toLowerCase() !== 'h2c' &&
        request.headers['transfer-encoding'] === undefined &&
        (request.headers['content-length'] ?? '0') === '0',
    },
    (request, response) => forward(state, request, response),
  )
  server.on('checkContinue', (request, response) => forward(state, request, response))
  server.on('upgrade', (request, socket, head) => upgrade(state, request, socket, head))
  server.maxConnections = limits.connections
  // More headers than this would be cut off without a word; `headerBytes` bounds them already.
  server.maxHeadersCount = 0
  return server
}
