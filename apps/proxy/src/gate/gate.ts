import { type AddressSet, addressSet } from '../address-set.ts'
import type { Route, RouteHeader, RoutePass } from '../route-table.ts'
import { corsGate } from './cors.ts'
import { forbiddenError } from './gate-errors.ts'
import { maintenanceGate } from './maintenance.ts'
import { passwordGate } from './password.ts'
import { mayRedirect, placesOf, redirectGate } from './redirects.ts'
import { errorAnswer, type GateAnswer, type Rule, type Ruled, type Visit } from './rule.ts'
import { shareCookie, shareGate } from './share.ts'
import { cookieNames, type SignInGate, signInGate } from './sign-in.ts'

/** Made once for each route of a table; null for a route that nothing stands in front of. */
export interface Gate {
  check(visit: Visit): Decision | Promise<Decision>
}

/** What to do with a request. `by` names the rule that answered, for the access log. */
export type Decision =
  | {
      readonly pass: true
      readonly request: RequestChanges | null
      readonly response: ResponseChanges | null
      /** What it was let in by, where one signs in: what is open ends with it. */
      readonly by: RoutePass | null
    }
  | { readonly pass: false; readonly by: RuleName; readonly answer: GateAnswer }

export type RuleName = 'share' | 'sign-in' | 'addresses' | 'cors' | 'maintenance' | 'password' | 'redirects'

/** Made with the gate, so that a request need not put it together again. */
export interface HeaderChanges {
  /** Headers that are removed, in lower case. */
  readonly names: readonly string[]
  /** A bit for the length of each name, modulo 32: most headers need not be compared with any. */
  readonly lengths: number
  /** Headers that are added, as a flat list. */
  readonly pairs: readonly string[]
}

export interface RequestChanges extends HeaderChanges {
  /** The gate's own: they are not for the application. */
  readonly withoutAuthorization: boolean
  readonly withoutCookies: readonly string[]
}

export interface ResponseChanges extends HeaderChanges {
  /** Added to `Vary`, which the application may have set. */
  readonly vary: string | null
  /** Cookies that the application sets hold for its own host alone, and these are not its to set; null: all as they are. */
  readonly foreignCookies: readonly string[] | null
}

export function createGate(route: Route): Gate | null {
  return route.rules === undefined && route.share === undefined && route.signIn === undefined
    ? null
    : new RouteGate(route)
}

/** The rules are fields rather than a list: see `IndexedRoute`. */
class RouteGate implements Gate {
  readonly share: Rule | null
  readonly signIn: SignInGate | null
  readonly addresses: AddressSet | null
  readonly cors: ReturnType<typeof corsGate> | null
  readonly maintenance: Rule | null
  readonly password: Rule | null
  readonly redirects: Rule | null
  /** See `mayRedirect`. */
  readonly redirectsAt: number
  readonly #request: RequestChanges | null
  readonly #response: ResponseChanges | null

  constructor({ rules = {}, share, signIn, project }: Route) {
    const { allow = [], cors, maintenance, password, redirects = [], requestHeaders = [], responseHeaders = [] } = rules
    this.share = share === undefined ? null : shareGate(share, project)
    this.signIn = signIn === undefined ? null : signInGate(signIn, cors?.origins)
    this.addresses = allow.length === 0 ? null : addressSet(allow)
    this.cors = cors === undefined ? null : corsGate(cors)
    this.maintenance = maintenance === undefined ? null : maintenanceGate(maintenance, project)
    this.password = password === undefined ? null : passwordGate(password, project)
    this.redirects = redirects.length === 0 ? null : redirectGate(redirects)
    this.redirectsAt = placesOf(redirects)
    const withoutAuthorization = password !== undefined
    const foreignCookies = signIn === undefined ? null : cookieNames(signIn)
    const withoutCookies = [...(share?.passwordHash === undefined ? [] : [shareCookie]), ...(foreignCookies ?? [])]
    this.#request =
      withoutAuthorization || withoutCookies.length > 0 || requestHeaders.length > 0
        ? { withoutAuthorization, withoutCookies, ...headerChanges(requestHeaders) }
        : null
    const answered = [...responseHeaders, ...(signIn === undefined ? [] : [embedding(signIn.url)])]
    this.#response =
      answered.length === 0
        ? null
        : { ...headerChanges(answered.filter(isReplaced)), pairs: pairsOf(answered), vary: null, foreignCookies }
  }

  check(visit: Visit): Decision | Promise<Decision> {
    try {
      return this.#from(visit, 0)
    } catch (error) {
      // A rule that fails lets no request in: the caller ends the connection.
      return Promise.reject(error)
    }
  }

  #from(visit: Visit, index: number): Decision | Promise<Decision> {
    for (let at = index; at < order.length; at += 1) {
      const { by, check } = order[at]!
      const answer = check(this, visit)
      if (answer instanceof Promise) {
        return answer.then((late) => (late === null ? this.#from(visit, at + 1) : { pass: false, by, answer: late }))
      }
      if (answer !== null) return { pass: false, by, answer }
    }
    const by = this.signIn === null ? null : this.signIn.passOf(visit)
    return { pass: true, request: this.#request, response: this.#responseOf(visit), by }
  }

  #responseOf(visit: Visit): ResponseChanges | null {
    if (this.cors === null) return this.#response
    const { headers, vary } = this.cors.responseChanges(visit)
    const own = this.#response
    if (own === null) return { ...headerChanges(headers), vary, foreignCookies: null }
    const all = headerChanges(headers.filter(({ name }) => !own.names.includes(name)))
    return {
      names: [...all.names, ...own.names],
      lengths: all.lengths | own.lengths,
      pairs: [...all.pairs, ...own.pairs],
      vary,
      foreignCookies: own.foreignCookies,
    }
  }
}

/**
 * The order is part of the promise: share, sign-in (whoever may not come in learns of no other rule), addresses, CORS preflight, maintenance, password, redirects, application. What a rule answers,
 * later ones never see; the headers of the answer, CORS among them, are changed only where the application answered.
 */
const order: readonly { readonly by: RuleName; readonly check: (gate: RouteGate, visit: Visit) => Ruled }[] = [
  { by: 'share', check: ({ share }, visit) => (share === null ? null : share.check(visit)) },
  { by: 'sign-in', check: ({ signIn }, visit) => (signIn === null ? null : signIn.check(visit)) },
  {
    by: 'addresses',
    check: ({ addresses }, { client }) =>
      addresses === null || (client !== null && addresses.has(client)) ? null : errorAnswer(forbiddenError),
  },
  { by: 'cors', check: ({ cors }, visit) => (cors === null ? null : cors.preflight.check(visit)) },
  {
    by: 'maintenance',
    check: ({ maintenance }, visit) => (maintenance === null ? null : maintenance.check(visit)),
  },
  { by: 'password', check: ({ password }, visit) => (password === null ? null : password.check(visit)) },
  {
    by: 'redirects',
    check: ({ redirects, redirectsAt }, visit) =>
      redirects === null || !mayRedirect(redirectsAt, visit.path) ? null : redirects.check(visit),
  },
]

function headerChanges(headers: readonly RouteHeader[]): HeaderChanges {
  const names = headers.map(({ name }) => name.toLowerCase())
  return {
    names,
    lengths: names.reduce((bits, { length }) => bits | (1 << (length % 32)), 0),
    pairs: pairsOf(headers),
  }
}

function pairsOf(headers: readonly RouteHeader[]): readonly string[] {
  return headers.flatMap(({ name, value }) => (value === null ? [] : [name, value]))
}

/** Policies add up: what the application says of itself stays. */
const policyName = 'content-security-policy'
const isReplaced = (header: RouteHeader) => header.name !== policyName

/** No neighbour shows it in a frame of its own. */
function embedding(url: string): RouteHeader {
  return { name: policyName, value: `frame-ancestors 'self' ${new URL(url).origin}` }
}

export function isChanged({ names, lengths }: HeaderChanges, name: string): boolean {
  return (lengths & (1 << (name.length % 32))) !== 0 && names.includes(name.toLowerCase())
}
