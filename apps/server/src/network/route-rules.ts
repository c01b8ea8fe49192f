import type { RouteRules } from '@stackquay/proxy/route-table'
import type { StoredRules } from '@stackquay/store'

/** The rules as the proxy takes them: what is off is absent. Undefined when nothing is on. */
export function routeRules(rules: StoredRules | undefined): RouteRules | undefined {
  if (rules === undefined) return undefined
  const { allowIps, basicAuth, redirects, requestHeaders, responseHeaders, cors, maintenance } = rules
  const made: RouteRules = {
    ...(allowIps.length > 0 && { allow: allowIps }),
    ...(basicAuth !== null && { password: { username: basicAuth.username, hash: basicAuth.passwordHash } }),
    ...(redirects.length > 0 && {
      redirects: redirects.map(({ from, host, to, status }) => ({ from, host: host ?? null, to, status })),
    }),
    ...(requestHeaders.length > 0 && { requestHeaders }),
    ...(responseHeaders.length > 0 && { responseHeaders }),
    ...(cors !== null && { cors }),
    ...(maintenance?.enabled === true && { maintenance: routeMaintenance(maintenance) }),
  }
  return Object.keys(made).length === 0 ? undefined : made
}

function routeMaintenance({ retryAfterSeconds, allowIps, message, html }: NonNullable<StoredRules['maintenance']>) {
  return {
    retryAfter: retryAfterSeconds ?? retryAfterDefault,
    allow: allowIps ?? [],
    ...(message !== undefined && { message }),
    ...(html !== undefined && { page: html }),
  }
}

/** Seconds. */
const retryAfterDefault = 600
