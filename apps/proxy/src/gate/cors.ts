import type { RouteCors, RouteHeader } from '../route-table.ts'
import { errorAnswer, type GateAnswer, type Rule, type Visit } from './rule.ts'

/** Cross-origin requests by the Fetch standard. The application need not know of them; what it says itself is replaced. */
export function corsGate(cors: RouteCors): {
  readonly preflight: Rule
  responseChanges(visit: Visit): { readonly headers: readonly RouteHeader[]; readonly vary: string | null }
} {
  const all = cors.origins.includes('*')
  const origins = new Set(cors.origins)
  const allowedOrigin = (origin: string | undefined) =>
    origin === undefined ? null : all ? '*' : origins.has(origin) ? origin : null
  const vary = all ? null : 'Origin'

  const preflight = ({ headers }: Visit): GateAnswer => {
    const origin = allowedOrigin(headers.origin)
    if (origin === null) return errorAnswer(originError, [['vary', 'Origin']])
    const asked = headers['access-control-request-headers']
    const allowed = cors.headers.length > 0 ? cors.headers.join(', ') : asked
    return {
      status: 204,
      headers: [
        ['access-control-allow-origin', origin],
        ['access-control-allow-methods', cors.methods.join(', ')],
        ...(allowed === undefined || allowed === '' ? [] : [['access-control-allow-headers', allowed] as const]),
        ...(cors.credentials ? [['access-control-allow-credentials', 'true'] as const] : []),
        ['access-control-max-age', String(cors.maxAgeSeconds)],
        ['vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'],
      ],
      error: null,
    }
  }
  return {
    preflight: {
      check: (visit) =>
        visit.method === 'OPTIONS' &&
        visit.headers.origin !== undefined &&
        visit.headers['access-control-request-method'] !== undefined
          ? preflight(visit)
          : null,
    },
    responseChanges: ({ headers }) => {
      const origin = allowedOrigin(headers.origin)
      const expose = cors.exposeHeaders.length > 0 ? cors.exposeHeaders.join(', ') : null
      return {
        headers: [
          { name: 'access-control-allow-origin', value: origin },
          { name: 'access-control-allow-credentials', value: origin !== null && cors.credentials ? 'true' : null },
          { name: 'access-control-expose-headers', value: origin === null ? null : expose },
        ],
        vary,
      }
    },
  }
}

const originError = {
  status: 403,
  code: 'origin_forbidden',
  title: 'Not from that page',
  detail: 'Pages of that origin may not use this.',
  hint: 'Ask the owner to allow the origin.',
  tone: 'calm',
} as const
