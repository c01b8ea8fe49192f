import { randomBytes } from 'node:crypto'
import {
  type AuthInfo,
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { type Caller, createMcpServer, createPlans } from '@stackquay/mcp'
import { createEventStore } from './event-store.ts'
import { createSessions } from './sessions.ts'

/** The protocol. Loaded with the first request to it, because most services never see one. */
export interface Endpoint {
  answer(visit: EndpointVisit): Promise<EndpointAnswer>
  close(): Promise<void>
}

export interface EndpointVisit {
  readonly request: Request
  /** Parsed. */
  readonly body: unknown
  readonly caller: Caller
}

export interface EndpointAnswer {
  readonly response: Response
  /** Of an open stream: when its reader has gone. */
  readonly released: () => void
  /** When the right to the stream ends. */
  readonly revoked: () => void
}

export interface EndpointDeps {
  readonly version: string
  onError(error: unknown, what: string): void
}

/**
 * Two protocols behind one address. Since 2026-07-28 each request says all about itself, and nothing is kept. Before, a client begins
 * a session, whose streams can be gone on with. Whose request it is, is decided by each request alone.
 */
export function createEndpoint({ version, onError }: EndpointDeps): Endpoint {
  const plans = createPlans()
  const sessions = createSessions()
  const server = () => createMcpServer({ version, plans, callerOf: callerIn, onError })
  const modern = createMcpHandler(server, { legacy: 'reject', keepAliveMs: 15_000 })

  const inSession = async ({ request, body, caller }: EndpointVisit): Promise<EndpointAnswer> => {
    const authInfo = authInfoOf(caller)
    const id = request.headers.get('mcp-session-id')
    if (id === null) {
      if (!isInitializeRequest(body)) return plain(rpcError(400, 'Begin with "initialize", or send Mcp-Session-Id.'))
      const transport = await begin(caller.id)
      return plain(await transport.handleRequest(request, { parsedBody: body, authInfo }))
    }
    const session = sessions.of(id, caller.id)
    if (session === null) return plain(rpcError(404, 'There is no such session. Begin another with "initialize".'))
    const response = await session.transport.handleRequest(request, { parsedBody: body, authInfo })
    return { response, released: sessions.hold(id), revoked: () => sessions.end(id) }
  }

  const begin = async (token: string) => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomBytes(24).toString('base64url'),
      onsessioninitialized: (id) => sessions.add(id, { token, transport }),
      onsessionclosed: (id) => sessions.end(id),
      eventStore: createEventStore(),
      retryInterval: 2000,
    })
    await server().connect(transport)
    return transport
  }

  return {
    async answer(visit) {
      const { request, body, caller } = visit
      if (await isLegacyRequest(request, body)) return inSession(visit)
      return plain(await modern.fetch(request, { parsedBody: body, authInfo: authInfoOf(caller) }))
    },
    async close() {
      sessions.close()
      await modern.close()
    },
  }
}

function plain(response: Response): EndpointAnswer {
  return { response, released: () => undefined, revoked: () => undefined }
}

/** The SDK hands on who asks, with each message. The token itself stays outside. */
function authInfoOf(caller: Caller): AuthInfo {
  return { token: '', clientId: caller.id, scopes: [], extra: { caller } }
}

function callerIn({ http }: ServerContext): Caller {
  return http!.authInfo!.extra!.caller as Caller
}

function rpcError(status: number, message: string): Response {
  const code = status === 404 ? -32001 : -32000
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
