import { apiPrefix, operationList, ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify'
import { createAdmission } from './admission.ts'
import { createAdmissionHook } from './admission-hook.ts'
import { type Authenticator, anonymous } from './authenticator.ts'
import { type Bound, bindOperations } from './bind.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { createCalls, pathOf } from './calls.ts'
import { createClientReader } from './client.ts'
import { createRecordDenial } from './denials.ts'
import type { DeniedLog } from './denied-log.ts'
import { eventRoute } from './event-route.ts'
import { createEventsHub } from './events-hub.ts'
import type { Handlers, Principal, StreamHandlers } from './handler.ts'
import { createIdempotency } from './idempotency.ts'
import { createOpenapiAnswer } from './openapi-answer.ts'
import { createOperationPaths } from './operation-paths.ts'
import { createOriginRules } from './origin.ts'
import { problemAnswer, problemErrorOf } from './problem-answer.ts'
import { bodyLimit, inTime, readJson } from './read-body.ts'
import { serveReference } from './reference.ts'
import { requestIdOf } from './request-id.ts'
import { createRightsWatch } from './rights-watch.ts'
import { apiHeaders } from './security-headers.ts'
import { streamOf } from './stream-body.ts'
import { takeTicket } from './ticket-address.ts'
import { createUpgrades } from './upgrade.ts'
import { watchEventsHandler } from './watch-events.ts'
import { serveWebPage } from './web-page.ts'

export interface HttpAppSettings {
  readonly version: string
  /** The host of the listening address, `127.0.0.1`; its name is one of ours. */
  readonly listenHost: string
  /** How people reach the service when it is not by that address: `https://quay.example.org`. */
  readonly baseUrl?: string | undefined
  /** Further origins whose pages may use a session: the page's development server. */
  readonly trustedOrigins?: readonly string[] | undefined
  /** Addresses or CIDR blocks of proxies in front, whose `X-Forwarded-*` counts. */
  readonly trustedProxies?: readonly string[] | undefined
}

export interface HttpAppLog {
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

export interface HttpAppDeps {
  readonly handlers: Handlers
  /** `watchEvents` is the HTTP app’s own. */
  readonly streams: Omit<StreamHandlers, 'watchEvents'>
  readonly store: Store
  readonly settings: HttpAppSettings
  readonly authenticator: Authenticator
  /** Closed with the app. */
  readonly denied: DeniedLog
  /** The built web page; null when there is none. */
  readonly webFolder: string | null
  readonly log: HttpAppLog
  readonly now?: () => number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The admission hook sets it before anything else runs. */
    principal: Principal
  }
}

/**
 * The one way in: routes bound from the table of operations, and around each the same order of request id, authentication,
 * authorization, parsing, handler, answer. Not listening yet. Throws when an operation has no access or no handler.
 * Closing it ends all streams, then writes what the authenticator and the denied log still hold.
 */
export function createHttpApp(deps: HttpAppDeps): FastifyInstance {
  const { store, settings, authenticator, denied, log, now = Date.now } = deps
  const hub = createEventsHub(store)
  const origins = createOriginRules(settings)
  const client = createClientReader(settings.trustedProxies ?? [], settings.baseUrl)
  const admit = createAdmission({ authenticator, origins, client, resolveProject: (ref) => store.projects.find(ref) })
  const paths = createOperationPaths(apiPrefix, operationList)
  const rights = createRightsWatch(log)
  const recordDenial = createRecordDenial(denied, client, (ref) => store.projects.find(ref))
  const enter = createAdmissionHook(admit, recordDenial)
  const callOf = createCalls({ client, idempotency: createIdempotency({ store, log, now }), recordDenial })
  const bound = bindOperations({
    operations: operationList,
    handlers: deps.handlers,
    streams: { ...deps.streams, watchEvents: watchEventsHandler(hub, store) },
    own: ['getOpenapi', 'streamEvents'],
  })
  const streams = bound.filter((one) => one.kind === 'websocket')
  const upgrades = createUpgrades({ admit, origins, client, paths, streams, rights, recordDenial, log })
  const stopping = new AbortController()
  const openapi = createOpenapiAnswer(settings.version)

  const app = createFastify((error, request, reply) => {
    setHeaders(request, reply)
    sendProblem(error, request, reply)
  })
  app.decorateRequest('principal')
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) =>
    readJson(bytes),
  )
  // Its own operation alone gets here: every other has refused the media type, or takes no body and does not read it.
  app.addContentTypeParser(streamTypes, (_request, payload, done) => done(null, streamOf(payload)))
  app.setErrorHandler(sendProblem)
  for (const one of bound) app.route(routeOf(one))
  serveReference(app, openapi.text)
  const sendPage = deps.webFolder === null ? null : serveWebPage(app, deps.webFolder)
  app.setNotFoundHandler((request, reply) => {
    request.principal = anonymous
    if (sendPage?.(request, reply, pathOf(request))) return reply
    return sendProblem(nothingHere(request, reply), request, reply)
  })
  app.server.on('upgrade', upgrades.accept)
  let cutting: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    stopping.abort()
    // Somebody may wait for minutes (`?wait=`); cut off, their handlers hear of it by their signal.
    cutting = setTimeout(() => app.server.closeAllConnections(), closingMilliseconds)
    rights.close()
    await upgrades.close()
  })
  app.addHook('onClose', async () => {
    clearTimeout(cutting)
    hub.close()
    await Promise.all([denied.close(), authenticator.close()])
  })
  return app

  function routeOf(one: Bound): RouteOptions {
    const { method, path, stream } = one.operation
    return {
      method,
      url: apiPrefix + path.replace(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: method === 'GET' && stream === undefined,
      onRequest: enter(one.operation),
      ...(one.operation.bodyStream === true ? {} : { preParsing: inTime }),
      handler: handlerOf(one),
    }
  }

  function handlerOf(one: Bound): RouteOptions['handler'] {
    switch (one.kind) {
      case 'call':
        return callOf(one.operation, one.handler)
      case 'websocket':
        return refusePlainRequest
      case 'own':
        if (one.operation.id === 'getOpenapi') return openapi.send
        return eventRoute(one.operation, { hub, store, admit, rights, stopping: stopping.signal, log })
      default:
        return one satisfies never
    }
  }

  function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = problemErrorOf(thrown)
    const path = pathOf(request)
    // Work that was given up because nobody waits for it any more is no fault.
    if (error.code === 'internal_error' && !reply.raw.destroyed) {
      log.error({ err: thrown, requestId: request.id, method: request.method, path }, 'A request failed.')
    }
    const { status, headers, problem } = problemAnswer(error, { requestId: request.id, path })
    return reply
      .code(status)
      .headers(headers)
      .send(Buffer.from(JSON.stringify(problem)))
  }

  function nothingHere(request: FastifyRequest, reply: FastifyReply): ProblemError {
    const path = pathOf(request)
    const methods = paths.methodsAt(path).join(', ')
    if (methods === '')
      return new ProblemError('not_found', `There is nothing at ${path}.`, { hint: 'See /api/docs for the paths.' })
    reply.header('allow', methods)
    return new ProblemError('method_not_allowed', `${request.method} is not possible here. Possible: ${methods}.`)
  }
}

const streamTypes = operationList.flatMap(({ bodyStream, bodyTypes }) =>
  bodyStream === true ? [...(bodyTypes ?? [])] : [],
)

/** How long requests that run may go on when the service stops. */
const closingMilliseconds = 2000

function createFastify(
  onMalformed: (error: Error, request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  return Fastify({
    bodyLimit,
    rewriteUrl: (request) => {
      const url = takeTicket(request as FastifyRequest['raw'])
      // Fastify keeps the address as it came; nothing may.
      if (url !== request.url) Object.assign(request, { originalUrl: url })
      return url
    },
    genReqId: (message) => requestIdOf(message as FastifyRequest['raw']),
    // A body of any size may take its time (`streamOf`); those that are parsed have `bodyMs`.
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    // `?wait=300` holds a connection without a byte for five minutes, so idle sockets are bounded by the headers' time alone.
    connectionTimeout: 0,
    http: {
      headersTimeout: 15_000,
      maxHeaderSize: 16 * 1024,
      // Others, such as curl's h2c, go on as plain HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    },
    routerOptions: { maxParamLength: 300 },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    exposeHeadRoutes: true,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: onMalformed,
  })
}

/** Schemas are parsed by the contract's operations; Fastify's own compilers are not even loaded, which is 540 KB of code. */
function noSchemas(): never {
  throw new Error('A route has a schema of Fastify. Describe it in the contract.')
}

function setHeaders({ id }: FastifyRequest, reply: FastifyReply): void {
  reply.headers(apiHeaders).header('x-request-id', id)
}

function refusePlainRequest(): never {
  throw new ProblemError('invalid_request', 'This is a WebSocket.', { hint: 'Connect with "Upgrade: websocket".' })
}
