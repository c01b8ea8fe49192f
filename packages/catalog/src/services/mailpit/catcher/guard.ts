import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { inboxHeader } from './inbox-terms.ts'

/** Where the web port is, for telling requests of its own page from those of others. */
export interface Place {
  /** The address it listens on. */
  readonly host: string
  readonly port: number
  /** The port that clients name where it is published as another one. */
  readonly shownPort: number | null
  /** Further names it is reached by. */
  readonly names: readonly string[]
  /** Its own name at a proxy, which has a port of its own. */
  readonly pageName: string | null
  readonly apiKey: string | null
}

export interface Refused {
  readonly status: 401 | 403 | 421
  readonly code: 'unauthorized' | 'refused'
  readonly message: string
}

/**
 * The port has no login: everybody who reaches it may read. So a page elsewhere, which a browser on this machine would let reach
 * it, must not: neither by a name that it makes point here, nor by requests across sites. Who has the key need not be here.
 */
export function refusal(request: IncomingMessage, place: Place, about: 'page' | 'data' | 'change'): Refused | null {
  const { headers } = request
  if (headers.authorization !== undefined) {
    if (place.apiKey !== null && sameText(headers.authorization, `Bearer ${place.apiKey}`)) return null
    return { status: 401, code: 'unauthorized', message: 'The key in "Authorization" is not the one of this inbox.' }
  }
  if (!isOurs(headers.host ?? '', place)) {
    return {
      ...{ status: 421, code: 'refused' },
      message: `The inbox is not served under this name: open it as http://127.0.0.1:${place.shownPort ?? place.port}.`,
    }
  }
  if (!isSameSite(request, about)) {
    return { status: 403, code: 'refused', message: 'Pages of other sites may not read or change the inbox.' }
  }
  if (about === 'change' && headers[inboxHeader.toLowerCase()] === undefined) {
    return { status: 403, code: 'refused', message: `A change needs the header "${inboxHeader}".` }
  }
  return null
}

/** Other names may be made to point here (DNS rebinding); an address cannot. */
function isOurs(host: string, place: Place): boolean {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(\d{1,5}))?$/i.exec(host)
  if (match === null) return false
  const name = match[1]!
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
  if (name === place.pageName) return true
  if (![place.port, place.shownPort].includes(Number(match[2] ?? 80))) return false
  if (isIP(name)) return !isLoopback(place.host) || isLoopback(name)
  return name === 'localhost' || name.endsWith('.localhost') || place.names.includes(name)
}

function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}

/** Browsers say where a request comes from, in one header or the other; programs that are none send neither. */
function isSameSite({ headers, method }: IncomingMessage, about: 'page' | 'data' | 'change'): boolean {
  const from = headers['sec-fetch-site']
  // A link to the page may be anywhere: the page shows nothing before it loads data itself.
  if (about === 'page' && method === 'GET') return headers['sec-fetch-dest'] !== 'iframe' || from === 'same-origin'
  if (from !== undefined && from !== 'same-origin' && from !== 'none') return false
  const { origin } = headers
  return origin === undefined || origin === `http://${headers.host}` || origin === `https://${headers.host}`
}

function sameText(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}
