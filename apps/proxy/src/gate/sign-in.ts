import { createHash } from '../node-crypto.ts'
import type { RoutePass, RouteSignIn } from '../route-table.ts'
import { foreignOriginError, signInError } from './gate-errors.ts'
import { errorAnswer, type GateAnswer, type Rule, type Visit } from './rule.ts'

/** Where a code is changed for a cookie. */
export const enterPath = '/.stackquay/enter'

/** A name in front of which everybody signs in. */
export interface SignInGate extends Rule {
  /** By what a request was let in; null for one that was not. */
  passOf(visit: Visit): RoutePass | null
}

/**
 * Only who carries the cookie of a pass comes in; everybody else is sent to the page of Stackquay, which knows who he is, and comes back with
 * a code that works once. What is answered without a pass is the same for a name that nobody has. `origins`: pages that the rules name may send
 * requests here; theirs carry the cookie where the browser takes both for the same site.
 */
export function signInGate({ url, cookie, passes }: RouteSignIn, origins: readonly string[] = []): SignInGate {
  const byHash = new Map(passes.map((pass) => [pass.hash, pass]))

  const passOf = ({ headers, proto, now }: Visit): RoutePass | null => {
    if (byHash.size === 0) return null
    for (const value of cookiesOf(headers.cookie, cookieName(cookie, proto))) {
      const pass = byHash.get(hashOf(value))
      if (pass !== undefined && pass.expiresAt > now) return pass
    }
    return null
  }
  const enter = async (visit: Visit, code: string, pass: RoutePass | null): Promise<GateAnswer> => {
    const entered = isCode(code) ? await visit.redeem(hashOf(code), visit.host) : null
    if (entered !== null) {
      const seconds = Math.floor((entered.expiresAt - visit.now) / 1_000)
      return redirect(entered.path, [['set-cookie', cookieLine(cookie, visit.proto, entered.cookie, seconds)]])
    }
    return pass === null ? redirect(addressOf(url, visit, '/')) : redirect('/')
  }
  return {
    passOf,
    check: (visit) => {
      // Browsers send a preflight without cookies; the rule for origins answers it, and nothing behind it does.
      if (isPreflight(visit) && isNamed(visit, origins)) return null
      const pass = passOf(visit)
      const code = visit.isUpgrade ? null : codeIn(visit)
      if (code !== null) return enter(visit, code, pass)
      if (pass === null) return isNavigation(visit) ? redirect(addressOf(url, visit, visit.path)) : unknown(url, visit)
      return isOwn(visit) || isNamed(visit, origins) ? null : errorAnswer(foreignOriginError)
    },
  }
}

/** Over TLS no program of another port of this host can set it, and none gets it. */
function cookieName(name: string, proto: Visit['proto']): string {
  return proto === 'https' ? `__Host-${name}` : name
}

/** All names of it: an application gets none of them, and sets none. */
export function cookieNames({ cookie }: RouteSignIn): readonly string[] {
  return [cookie, cookieName(cookie, 'https')]
}

function cookieLine(name: string, proto: Visit['proto'], value: string, seconds: number): string {
  const secure = proto === 'https' ? '; Secure' : ''
  return `${cookieName(name, proto)}=${value}; Path=/; Max-Age=${Math.max(1, seconds)}; HttpOnly; SameSite=Lax${secure}`
}

/**
 * A neighbour can set cookies of this name for the domain above both. Whichever matches counts; browsers send those with longer paths and the
 * older ones first, and of so many the last are looked at.
 */
const mostCookies = 8

function cookiesOf(header: string | undefined, name: string): readonly string[] {
  const found: string[] = []
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=')
    if (equals === -1 || part.slice(0, equals).trim() !== name) continue
    const value = part.slice(equals + 1).trim()
    if (isCode(value)) found.push(value)
  }
  return found.slice(-mostCookies)
}

/** 256 bits. */
function isCode(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** What stands as the code in the address that one comes back to; null for every other address. */
function codeIn({ path }: Visit): string | null {
  const query = path.indexOf('?')
  if ((query === -1 ? path : path.slice(0, query)) !== enterPath) return null
  return query === -1 ? '' : (new URLSearchParams(path.slice(query + 1)).get('code') ?? '')
}

function addressOf(url: string, { host, proto }: Visit, path: string): string {
  const asked = new URLSearchParams({ host, ...(proto === 'https' && { secure: 'true' }) })
  if (path.length <= longestPath) asked.set('path', path)
  return `${url}?${asked}`
}

const longestPath = 2_000

function redirect(location: string, more: GateAnswer['headers'] = []): GateAnswer {
  const headers: GateAnswer['headers'] = [
    ['location', location],
    ['cache-control', 'no-store'],
    // The code of the address must reach nobody.
    ['referrer-policy', 'no-referrer'],
    ...more,
  ]
  return { status: 303, headers, error: null }
}

function unknown(url: string, visit: Visit): GateAnswer {
  return errorAnswer({ ...signInError, dashboardUrl: addressOf(url, visit, '/') })
}

function isPreflight({ method, headers }: Visit): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** By name alone: `*` lets everybody ask, and nobody with a cookie. */
function isNamed({ headers: { origin } }: Visit, origins: readonly string[]): boolean {
  return origin !== undefined && origins.includes(origin)
}

/** Somebody opens it as a page. */
function isNavigation({ method, headers, isUpgrade }: Visit): boolean {
  if (isUpgrade || (method !== 'GET' && method !== 'HEAD')) return false
  const mode = headers['sec-fetch-mode']
  return mode === undefined ? /\btext\/html\b/i.test(headers.accept ?? '') : mode === 'navigate'
}

/**
 * Pages of neighbours are of the same site, and their requests carry the cookie. They may lead here, which changes nothing, and may do nothing
 * else. Every browser says with what changes something where it comes from.
 */
function isOwn({ method, headers, proto, isUpgrade }: Visit): boolean {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  const isOwnOrigin = origin === `${proto}://${host}` || (origin !== undefined && site === 'same-origin')
  if (isUpgrade) return isOwnOrigin
  if (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS')
    return site === undefined ? isOwnOrigin : site === 'same-origin'
  if (site === undefined) return origin === undefined || isOwnOrigin
  return site === 'same-origin' || site === 'none' || headers['sec-fetch-mode'] === 'navigate'
}
