import { type Scope, scopes } from '@stackquay/contract'
import { includes } from './access.ts'

/** Which values of one claim give which role. */
export interface RolesByClaim {
  /** A name, or a path to it: `groups`, `realm_access.roles`. */
  readonly claim: string
  readonly admin: readonly string[]
  readonly operate: readonly string[]
  readonly read: readonly string[]
}

export type Claims = Readonly<Record<string, unknown>>

/**
 * The strongest role that the claims give; `defaultRole` for who has none of them. Null: nobody who may come in. A claim that looks like a list
 * in one text is not taken apart: `"admins users"` is one value.
 */
export function roleByClaims(claims: Claims, roles: RolesByClaim | null, defaultRole: Scope | null): Scope | null {
  if (roles === null) return defaultRole
  const values = valuesOf(claims, roles.claim)
  const given = scopes.filter((scope) => roles[scope].some((value) => values.includes(value)))
  return given.reduce<Scope | null>(
    (best, scope) => (best === null || includes(scope, best) ? scope : best),
    given[0] ?? defaultRole,
  )
}

/** The claim of exactly that name comes before a path: names of claims may hold dots, such as `https://example.org/roles`. */
function valuesOf(claims: Claims, name: string): readonly string[] {
  const found = Object.hasOwn(claims, name)
    ? claims[name]
    : name.split('.').reduce<unknown>((inner, part) => {
        if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, part)) return undefined
        return (inner as Claims)[part]
      }, claims)
  return (Array.isArray(found) ? found : [found]).filter((value): value is string => typeof value === 'string')
}

/** A user name out of what the provider says of a person. It is never how somebody is recognised. */
export function usernameFrom(claims: Claims): string {
  const { preferred_username: preferred, email, name, sub } = claims
  for (const text of [preferred, email, name, sub]) {
    if (typeof text !== 'string') continue
    const made = asUsername(text.replace(/@.*$/s, ''))
    if (made !== '') return made
  }
  return 'person'
}

function asUsername(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, longestName)
}

const longestName = 39
/** Actors in the audit log that are no people. */
const reserved: readonly string[] = ['system', 'anonymous', 'host']

/** The name, with a number behind it when somebody has it: nobody comes into another’s account by having the same name. */
export function freeUsername(wanted: string, isTaken: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`
    const name = `${wanted.slice(0, longestName - suffix.length)}${suffix}`
    if (!reserved.includes(name) && !isTaken(name)) return name
  }
}

export type CheckedIssuer =
  | { readonly ok: true; readonly issuer: string }
  | { readonly ok: false; readonly detail: string }

/** The issuer as it is kept: the very text that the provider’s tokens carry. */
export function checkIssuer(text: string): CheckedIssuer {
  const url = URL.parse(text)
  const no = (detail: string) => ({ ok: false, detail }) as const
  if (url === null) return no('It must be an address such as https://id.example.org/realms/main.')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return no('It must be an https address. Only a provider on this very machine may be asked without TLS.')
  if (url.username !== '' || url.password !== '') return no('It must not hold a user name or a password.')
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text)) return no('It must not have a query or a fragment.')
  if (url.pathname.endsWith('/.well-known/openid-configuration'))
    return no('Leave out /.well-known/openid-configuration: the issuer is what stands before it.')
  return { ok: true, issuer: text }
}

/** By name or address. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
