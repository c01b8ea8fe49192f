import { createHash, timingSafeEqual } from 'node:crypto'
import { newSessionSecret } from '../access/session-cookie.ts'
import { hashOf } from '../access/token-value.ts'
import type { Claims, Tokens } from './provider.ts'

/** Somebody whom the provider has vouched for, until the page that began fetches the session. */
export interface Arrival {
  readonly issuer: string
  readonly claims: Claims
  readonly tokens: Tokens
}

export interface Arrivals {
  /** Answers the code. */
  keep(arrival: Arrival, challenge: string): string
  /** Once, whatever comes of it; null for a code or a verifier that is not the one. */
  take(code: string, verifier: string): Arrival | null
}

const arrivalMs = 2 * 60_000
const mostArrivals = 256

/** In memory: each is good for a moment, and only for the page that has the verifier. */
export function createArrivals(now: () => number): Arrivals {
  const kept = new Map<string, Arrival & { readonly challenge: string; readonly until: number }>()
  return {
    keep: (arrival, challenge) => {
      for (const [hash, { until }] of kept) if (until <= now() || kept.size >= mostArrivals) kept.delete(hash)
      const code = newSessionSecret()
      kept.set(hashOf(code), { ...arrival, challenge, until: now() + arrivalMs })
      return code
    },
    take: (code, verifier) => {
      const found = kept.get(hashOf(code))
      kept.delete(hashOf(code))
      if (found === undefined || found.until <= now()) return null
      const given = createHash('sha256').update(verifier).digest()
      const wanted = Buffer.from(found.challenge, 'base64url')
      return given.length === wanted.length && timingSafeEqual(given, wanted) ? found : null
    },
  }
}
