import type { IncomingMessage } from 'node:http'
import { type ClientAddress, clientAddress } from './client-address.ts'
import { entryOf } from './entrances.ts'
import { shareEndedNotice } from './gate/gate-notices.ts'
import { addForwarded, readRequestHead } from './headers.ts'
import { badRequestNotice, type Notice, unknownHostNotice } from './notices.ts'
import { hostName, type Way } from './route-index.ts'
import type { ProxyState } from './state.ts'
import type { BodyFraming } from './upstream/request-head.ts'

/** A request that is well-formed and belongs to a route: all that is needed to send it on. */
export interface Arrival {
  readonly host: string
  readonly way: Way
  readonly client: ClientAddress
  /** Origin form, whatever form the client used. */
  readonly path: string
  /** Flat list with `host` first and `X-Forwarded-*` last, without what delimits the body. */
  readonly headers: string[]
  readonly body: BodyFraming
  /** The client waits for a word before it sends its body. */
  readonly expects: boolean
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

  // Would begin another request on the connection to the project.
  if (notInTarget.test(path)) return badRequestNotice('Its target holds a space or a control character.')

  const entry = entryOf(request, state.routes)
  if (entry !== null) {
    if (entry.way === null) return shareEndedNotice
    const { host, way, publicHost, publicPort, client } = entry
    const headers = ['host', publicHost, ...head.headers]
    addForwarded(headers, publicPort, publicHost, client)
    return { host, way, client, path, headers, body: head.body, expects: head.expects }
  }

  const host = hostName(authority)
  if (host === undefined) return badRequestNotice('Its Host header is no host name.')
  const way = state.routes.wayOf(host)
  if (!way) return wasShare(state, host) ? shareEndedNotice : unknownHostNotice

  const headers = ['host', authority, ...head.headers]
  const client = clientAddress(request, state.routes.trusted)
  addForwarded(headers, `${request.socket.localPort}`, authority, client)
  return { host, way, client, path, headers, body: head.body, expects: head.expects }
}

function wasShare({ routes }: ProxyState, host: string): boolean {
  const { shareSuffix } = routes.table
  return shareSuffix !== undefined && host.endsWith(shareSuffix)
}

const slash = 0x2f
const notInTarget = /[^\x21-\x7e\x80-\xff]/
const absoluteForm = /^http:\/\/([^/?#]+)([^#]*)/i
