import { Readable } from 'node:stream'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { type Operation, ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { anonymous } from '../http/authenticator.ts'
import type { HttpKit } from '../http/kit.ts'
import { inTime } from '../http/read-body.ts'
import { callerOf, type Visit } from './caller.ts'
import type { Endpoint } from './endpoint.ts'
import { createMasking } from './masking.ts'

export interface McpDeps {
  readonly store: Pick<Store, 'projects' | 'secrets'>
  readonly version: string
  onError(error: unknown, what: string): void
}

const path = '/mcp'

/** Not one of the API’s, but let in, and refused, like one. */
const entry: Operation = {
  id: 'mcp',
  method: 'POST',
  path,
  tag: 'MCP',
  summary: 'Tools for assistants',
  access: { kind: 'authenticated' },
  results: {},
  problems: [],
  audit: 'mcp.connect',
}

declare module 'fastify' {
  interface FastifyRequest {
    visit?: Visit
  }
}

/** `/mcp`: the API as tools for assistants, for whoever has a token. */
export function mountMcp({ store, version, onError }: McpDeps): (app: FastifyInstance, kit: HttpKit) => void {
  return (app, kit) => {
    const masking = createMasking(store)
    let endpoint: Promise<Endpoint> | undefined
    const loaded = () => {
      endpoint ??= import('./endpoint.ts').then(({ createEndpoint }) => {
        const made = createEndpoint({ version, onError })
        kit.stopping.addEventListener('abort', () => void made.close().catch(() => undefined), { once: true })
        return made
      })
      return endpoint
    }
    app.route({
      method: ['GET', 'POST', 'DELETE'],
      url: path,
      exposeHeadRoute: false,
      onRequest: async (request) => {
        request.visit = await enter(request, version, kit)
      },
      preParsing: inTime,
      handler: async (request, reply) => {
        if (kit.stopping.aborted) throw new ProblemError('unavailable', 'The service is stopping.')
        const visit = request.visit!
        const caller = callerOf(visit, { ...kit, app, masking })
        const { answer } = await loaded()
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort())
        const answered = await answer({ request: webRequest(request, gone.signal), body: request.body, caller })
        return send(request, reply, answered, kit)
      },
    })
  }
}

/** A token alone gets in: a browser’s session has the page. And no page of another site, whatever it knows. */
async function enter(request: FastifyRequest, version: string, kit: HttpKit): Promise<Visit> {
  const { raw: message, id: requestId } = request
  request.principal = anonymous
  const agent = message.headers['user-agent'] ?? ''
  // What is done through it is told apart in the audit log.
  if (!agent.startsWith('stq-mcp/')) message.headers['user-agent'] = `stq-mcp/${version} (${agent.slice(0, 200)})`
  const deny = async (refusal: unknown, principal = request.principal): Promise<never> => {
    await kit.recordDenial(entry, { id: requestId, principal, params: {}, raw: message }, refusal)
    throw refusal
  }
  try {
    kit.origins.checkHost(message.headers)
    kit.origins.checkOrigin({ ...message.headers, 'sec-fetch-site': undefined })
  } catch (error) {
    return deny(error)
  }
  const { principal, refusal } = await kit.admit({ operation: entry, params: {}, message })
  request.principal = principal
  if (refusal !== null) return deny(refusal)
  if (principal.kind === 'token') return { message, requestId, principal }
  return deny(
    new ProblemError('unauthorized', 'This needs an API token, and none was sent.', {
      headers: { 'www-authenticate': 'Bearer realm="stackquay"' },
    }),
  )
}

function webRequest({ raw, method, headers }: FastifyRequest, signal: AbortSignal): Request {
  const passed = new Headers()
  for (const name of [
    'accept',
    'content-type',
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
    'mcp-method',
    'mcp-name',
  ]) {
    const value = headers[name]
    if (typeof value === 'string') passed.set(name, value)
  }
  // The body is handed over parsed; the host means nothing.
  return new Request(new URL(raw.url ?? path, 'http://service'), { method, headers: passed, signal })
}

/** A stream is watched: when the token is revoked, it ends. */
function send(
  { raw: message, principal }: FastifyRequest,
  reply: FastifyReply,
  { response, released, revoked }: Awaited<ReturnType<Endpoint['answer']>>,
  { admit, rights }: HttpKit,
): FastifyReply {
  const { body, status, headers } = response
  const stream = body === null ? null : Readable.fromWeb(body as NodeReadableStream)
  if (stream === null || !(headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    released()
    reply.code(status).headers(Object.fromEntries(headers))
    return stream === null ? reply.send() : reply.send(stream)
  }
  const { raw } = reply
  const unwatch = rights.add({
    check: async () => (await admit({ operation: entry, params: {}, message, again: principal })).refusal,
    end: () => {
      revoked()
      raw.end()
    },
  })
  raw.once('close', () => {
    unwatch()
    released()
    stream.destroy()
  })
  stream.once('error', () => raw.destroy())
  reply.hijack()
  const { connection: _connection, ...own } = Object.fromEntries(headers)
  raw.writeHead(status, { ...(reply.getHeaders() as Record<string, string>), ...own })
  // A reader waits for the head, and the first event may be far.
  raw.flushHeaders()
  stream.pipe(raw)
  return reply
}
