import type { IncomingMessage } from 'node:http'
import { type ClientAddress, clientAddress } from './client-address.ts'
import { badRequestError, type ErrorResponse, unknownHostError } from './error-responses.ts'
import { shareEndedError } from './gate/gate-errors.ts'
import { addForwarded, readRequestHead } from './headers.ts'
import { hostName, type IndexedRoute } from './route-index.ts'
import { entryOf } from './share-listeners.ts'
import type { ProxyState } from './state.ts'
import type { BodyFraming } from './upstream/request-head.ts'

/** A request that is well-formed and belongs to a route: all that is needed to send it on. */
export interface RequestContext {
  readonly host: string
  readonly route: IndexedRoute
  readonly client: ClientAddress
  /** Origin form, whatever form the client used. */
  readonly path: string
  /** Flat list with `host` first and `X-Forwarded-*` last, without what delimits the body. */
  readonly headers: string[]
  readonly body: BodyFraming
  /** The client waits for a word before it sends its body. */
  readonly expects: boolean
}

export function readRequestContext(state: ProxyState, request: IncomingMessage): RequestContext | ErrorResponse {
  const head = readRequestHead(request)
  if (head.authority === undefined) return badRequestError('It must have exactly one Host header.')

  let authority = head.authority
  let path = request.url!
  if (path.charCodeAt(0) !== slash) {
    const absolute = absoluteForm.exec(path)
    if (!absolute)
      return badRequestError(`Its target ${JSON.stringify(path.slice(0, 80))} is neither a path nor an http address.`)
    // RFC 9112, 3.2.2: the host in the target counts, the Host header does not.
    authority = absolute[1]!
    path = absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]!}`
  }

  // Would begin another request on the connection to the project.
  if (notInTarget.test(path)) return badRequestError('Its target holds a space or a control character.')

  const entry = entryOf(request, state.routes)
  if (entry !== null) {
    if (entry.route === null) return shareEndedError
    const { host, route, publicHost, publicPort, client } = entry
    const headers = ['host', publicHost, ...head.headers]
    addForwarded(headers, publicPort, publicHost, client)
    return { host, route, client, path, headers, body: head.body, expects: head.expects }
  }

  const host = hostName(authority)
  if (host === undefined) return badRequestError('Its Host header is no host name.')
  const route = state.routes.routeOf(host)
  if (!route) return wasShare(state, host) ? shareEndedError : unknownHostError

  const headers = ['host', authority, ...head.headers]
  const client = clientAddress(request, state.routes.trusted)
  addForwarded(headers, `${request.socket.localPort}`, authority, client)
  return { host, route, client, path, headers, body: head.body, expects: head.expects }
}

function wasShare({ routes }: ProxyState, host: string): boolean {
  const { shareSuffix } = routes.table
  return shareSuffix !== undefined && host.endsWith(shareSuffix)
}

const slash = 0x2f
const notInTarget = /[^\x21-\x7e\x80-\xff]/
const absoluteForm = /^http:\/\/([^/?#]+)([^#]*)/i
