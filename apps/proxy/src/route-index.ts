import { type AddressSet, addressSet } from './address-set.ts'
import { createGate, type Gate } from './gate/gate.ts'
import type { Route, RouteTable } from './route-table.ts'

/** One table, ready for look-ups. Never changed: a new table is a new index, and the switch is one assignment. */
export interface RouteIndex {
  readonly table: RouteTable
  /** The route of a name: its own, else that of the wildcard one label above. */
  routeOf(host: string): Route | undefined
  /** What stands in front of a route of this table; null when nothing does. */
  gateOf(route: Route): Gate | null
  /** Null when nobody in front is trusted. */
  readonly trusted: AddressSet | null
}

export function indexRoutes(table: RouteTable): RouteIndex {
  const byHost = new Map(table.routes.flatMap((route) => route.hosts.map((host) => [host, route])))
  // Made before the table is used: one that cannot be understood is refused as a whole.
  const gates = new Map(table.routes.map((route) => [route, createGate(route)]))
  const trusted = table.trustedProxies ?? []
  const hasWildcards = [...byHost.keys()].some((host) => host.startsWith('*.'))
  return {
    table,
    trusted: trusted.length === 0 ? null : addressSet(trusted),
    gateOf: (route) => gates.get(route) ?? null,
    routeOf(host) {
      const own = byHost.get(host)
      if (own !== undefined || !hasWildcards) return own
      const dot = host.indexOf('.')
      return dot === -1 ? undefined : byHost.get(`*${host.slice(dot)}`)
    },
  }
}

/**
 * The name in a `Host` header: lower case, port and trailing dot gone. Undefined when what stands there is no host at
 * all; such a request is refused rather than guessed at.
 */
export function hostName(authority: string): string | undefined {
  const found = authorityForm.exec(authority)
  return found?.[1]?.toLowerCase()
}

const authorityForm = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])\.?(?::\d{0,5})?$/i
