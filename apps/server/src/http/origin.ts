import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { ProblemError } from '@stackquay/contract'

export interface OriginRules {
  /** Refuses host names that are not ours. */
  checkHost(headers: IncomingHttpHeaders): void
  /** Refuses requests that a page of another site made. */
  checkOrigin(headers: IncomingHttpHeaders): void
}

export interface OriginSettings {
  readonly listenHost: string
  readonly baseUrl?: string | undefined
  readonly trustedOrigins?: readonly string[] | undefined
}

/**
 * Two guards for browsers, who send what they know about us without being asked.
 *
 * Host: a page on a name whose DNS answer turns into our address (rebinding) is same-origin with us in the browser's
 * eyes. It gets no session, since cookies belong to the other name; but it could try set-up codes and passwords from
 * inside a firewall. It needs a name that public DNS hands out, so addresses, loopback names, names without a dot and the
 * suffixes that DNS never delegates are accepted, together with those of the settings. Requests with a bearer token are
 * not asked: no foreign page has one.
 *
 * Origin: what `Origin` or `Sec-Fetch-Site` says must be us or a trusted origin. Clients that are no browsers send
 * neither; for those the session's key alone decides.
 */
export function createOriginRules({ listenHost, baseUrl, trustedOrigins = [] }: OriginSettings): OriginRules {
  const origins = new Set(
    [...trustedOrigins, ...(baseUrl === undefined ? [] : [baseUrl])].map((url) => new URL(url).origin),
  )
  const names = new Set([listenHost.toLowerCase(), ...[...origins].map((origin) => new URL(origin).hostname)])

  return {
    checkHost({ host = '' }) {
      const name = hostName(host)
      if (names.has(name) || isUnreachableByRebinding(name)) return
      throw new ProblemError('csrf_failed', `The service does not know itself as "${name}".`, {
        hint: 'Open it under its address or localhost, or set STACKQUAY_PUBLIC_URL to the address people use.',
      })
    },
    checkOrigin(headers) {
      const { origin, host } = headers
      const site = headers['sec-fetch-site']
      if (origin === undefined) {
        if (site === undefined || site === 'same-origin' || site === 'none') return
      } else if (origins.has(origin) || (hostOf(origin) === host?.toLowerCase() && host !== undefined)) return
      throw new ProblemError('csrf_failed', `A page of another site (${origin ?? site}) sent this request.`, {
        hint: 'Use the page of this service, or add that origin to the trusted ones.',
      })
    },
  }
}

/** `localhost:8700` → `localhost`, `[::1]:8700` → `::1`. */
function hostName(host: string): string {
  const lower = host.toLowerCase()
  if (lower.startsWith('[')) return lower.slice(1, lower.indexOf(']'))
  const colon = lower.indexOf(':')
  return colon === -1 ? lower : lower.slice(0, colon)
}

function isUnreachableByRebinding(name: string): boolean {
  return !name.includes('.') || isIP(name) !== 0 || undelegated.test(name)
}

/** RFC 6761, 6762, 8375, 9476 and the reserved `internal`; `lan` is what home routers use. */
const undelegated = /\.(localhost|local|home\.arpa|internal|test|alt|lan)$/

function hostOf(origin: string): string | null {
  return URL.parse(origin)?.host ?? null
}
