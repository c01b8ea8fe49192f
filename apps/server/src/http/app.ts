import { apiPrefix, type Operation, operationList, ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { createAdmission } from './admission.ts'
import { createAdmissionHook } from './admission-hook.ts'
import { type Authenticator, anonymous } from './authenticator.ts'
import { createBareApp } from './bare-app.ts'
import { type Bound, bindOperations } from './bind.ts'
import { createCalls, pathOf } from './calls.ts'
import { createClientReader } from './client.ts'
import { createRecordDenial } from './denials.ts'
import type { DeniedLog } from './denied-log.ts'
import { eventRoute } from './event-route.ts'
import { createEventsHub, type EventsHub } from './events-hub.ts'
import type { Handlers, Principal, StreamHandlers } from './handler.ts'
import { createIdempotency } from './idempotency.ts'
import type { HttpKit } from './kit.ts'
import { createOpenapiAnswer } from './openapi-answer.ts'
import { createOperationPaths, type OperationPaths } from './operation-paths.ts'
import { createOriginRules } from './origin.ts'
import { inTime, rawBodyLimit } from './read-body.ts'
import { serveReference } from './reference.ts'
import { createRightsWatch, type RightsWatch } from './rights-watch.ts'
import { createSendProblem } from './send-problem.ts'
import { createUpgrades, type Upgrades } from './upgrade.ts'
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
  readonly trustedProxies?: readonly string[] | (() => readonly string[]) | undefined
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
  /** Addresses beside the API. */
  readonly mount?: (app: FastifyInstance, kit: HttpKit) => void
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
  const sendProblem = createSendProblem(log)

  const app = createBareApp(sendProblem)
  for (const one of bound) addRoute(app, one.operation, enter(one.operation), handlerOf(one))
  for (const { id, at } of alsoAt) {
    const one = bound.find(({ operation }) => operation.id === id)
    if (one !== undefined) addRoute(app, one.operation, enter(one.operation), handlerOf(one), at)
  }
  serveReference(app, openapi.text)
  deps.mount?.(app, { admit, origins, client, rights, recordDenial, denied, stopping: stopping.signal })
  const sendPage = deps.webFolder === null ? null : serveWebPage(app, deps.webFolder)
  app.setNotFoundHandler((request, reply) => {
    request.principal = anonymous
    if (sendPage?.(request, reply, pathOf(request))) return reply
    const methods = paths.methodsAt(pathOf(request))
    if (methods.length > 0) reply.header('allow', methods.join(', '))
    return sendProblem(nothingHere(request, methods), request, reply)
  })
  app.server.on('upgrade', upgrades.accept)
  closeWith(app, { stopping, rights, upgrades, hub, denied, authenticator })
  return app

  function handlerOf(one: Bound): RouteHandlerMethod {
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
}

/** Addresses that programs of others expect, outside of the API. */
const alsoAt: readonly { readonly id: string; readonly at: string }[] = [{ id: 'getMetrics', at: '/metrics' }]

function addRoute(
  app: FastifyInstance,
  { method, path, stream, bodyStream, rawBody }: Operation,
  onRequest: ReturnType<ReturnType<typeof createAdmissionHook>>,
  handler: RouteHandlerMethod,
  url = apiPrefix + path.replace(/\{(\w+)\}/g, ':$1'),
): void {
  app.route({
    method,
    url,
    exposeHeadRoute: method === 'GET' && stream === undefined,
    onRequest,
    ...(bodyStream === true ? {} : { preParsing: inTime }),
    ...(rawBody === true ? { config: { rawBody }, bodyLimit: rawBodyLimit } : {}),
    handler,
  })
}

function refusePlainRequest(): never {
  throw new ProblemError('invalid_request', 'This is a WebSocket.', { hint: 'Connect with "Upgrade: websocket".' })
}

function nothingHere(request: FastifyRequest, methods: ReturnType<OperationPaths['methodsAt']>): ProblemError {
  const path = pathOf(request)
  if (methods.length === 0)
    return new ProblemError('not_found', `There is nothing at ${path}.`, { hint: 'See /api/docs for the paths.' })
  const possible = methods.join(', ')
  return new ProblemError('method_not_allowed', `${request.method} is not possible here. Possible: ${possible}.`)
}

/** How long requests that run may go on when the service stops. */
const closingMilliseconds = 2000

interface ClosedWithApp extends Pick<HttpAppDeps, 'denied' | 'authenticator'> {
  readonly stopping: AbortController
  readonly rights: RightsWatch
  readonly upgrades: Upgrades
  readonly hub: EventsHub
}

/** Streams end first; what the authenticator and the denied log still hold is written when nothing comes any more. */
function closeWith(app: FastifyInstance, parts: ClosedWithApp): void {
  let cutting: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    parts.stopping.abort()
    // Somebody may wait for minutes (`?wait=`); cut off, their handlers hear of it by their signal.
    cutting = setTimeout(() => app.server.closeAllConnections(), closingMilliseconds)
    parts.rights.close()
    await parts.upgrades.close()
  })
  app.addHook('onClose', async () => {
    clearTimeout(cutting)
    parts.hub.close()
    await Promise.all([parts.denied.close(), parts.authenticator.close()])
  })
}
