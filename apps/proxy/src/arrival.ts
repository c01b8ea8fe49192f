import type { IncomingMessage } from 'node:http'
import { addForwarded, readRequestHead } from './headers.ts'
import { badRequestNotice, type Notice, unknownHostNotice } from './notices.ts'
import { hostName } from './route-index.ts'
import type { Route } from './route-table.ts'
import type { ProxyState } from './state.ts'

/** A request that is well-formed and belongs to a route: all that is needed to send it on. */
export interface Arrival {
  readonly host: string
  readonly route: Route
  /** Origin form, whatever form the client used. */
  readonly path: string
  /** Flat list with `host` first and `X-Forwarded-*` last. */
  readonly headers: string[]
  readonly hasBody: boolean
}

export function readArrival(state: ProxyState, request: IncomingMessage): Arrival | Notice {
  const head = readRequestHead(request)
  if (head.authority === undefined) return badRequestNotice('It must have exactly one Host header.')

  let authority = head.authority
  let path = request.url!
  if (path.charCodeAt(0) !== slash) {
    const absolute = absoluteForm.exec(path)
    if (!absolute)
      return badRequestNotice(`Its target ${JSON.stringify(path.slice(0, 80))} is neither a path nor an http address.`)
    // RFC 9112, 3.2.2: the host in the target counts, the Host header does not.
    authority = absolute[1]!
    path = absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]!}`
  }

  const host = hostName(authority)
  if (host === undefined) return badRequestNotice('Its Host header is no host name.')
  const route = state.routes.byHost.get(host)
  if (!route) return unknownHostNotice

  const headers = ['host', authority, ...head.headers]
  addForwarded(headers, request, authority)
  return { host, route, path, headers, hasBody: head.hasBody }
}

const slash = 0x2f
const absoluteForm = /^http:\/\/([^/?#]+)([^#]*)/i
