import { type AddressSet, addressSet } from './address-set.ts'
import { createGate, type Gate } from './gate/gate.ts'
import { HostTable } from './host-table.ts'
import type { Route, RouteShare, RouteTable, UpstreamTarget } from './route-table.ts'
import type { UpstreamPool } from './upstream/pool.ts'

/** One table, ready for look-ups. Never changed: a new table is a new index, and the switch is one assignment. */
export interface RouteIndex {
  readonly table: RouteTable
  /** The way of a name: its own, else that of the wildcard one label above. */
  wayOf(host: string): Way | undefined
  readonly ways: readonly Way[]
  /** Null when nobody in front is trusted. */
  readonly trusted: AddressSet | null
}

/**
 * A route with all that a request needs of it. It stands together because of a thousand busy hosts: what belongs to one is
 * in no cache of the processor when its next request comes, and each object that must be looked up costs a trip to memory.
 */
export class Way {
  readonly route: Route
  /** Id of the project. */
  readonly project: string
  readonly share: RouteShare | null
  /** What stands in front; null when nothing does. */
  readonly gate: Gate | null
  /** Null when a page answers. */
  readonly target: UpstreamTarget | null
  /** Connections to the target, once they were asked for. */
  pool: UpstreamPool | null = null

  constructor(route: Route) {
    this.route = route
    this.project = route.project.id
    this.share = route.share ?? null
    this.gate = createGate(route)
    this.target = route.target.kind === 'upstream' ? route.target : null
  }
}

/** What was made of a route that is in both tables is kept. */
export function indexRoutes(table: RouteTable, before?: RouteIndex): RouteIndex {
  const made = new Map(before?.ways.map((way) => [way.route, way]))
  // Made before the table is used: one that cannot be understood is refused as a whole.
  const ways = table.routes.map((route) => made.get(route) ?? new Way(route))
  const hosts = ways.flatMap((way) => way.route.hosts.map((host) => [host, way] as const))
  const byHost = new HostTable(hosts)
  const trusted = table.trustedProxies ?? []
  const hasWildcards = hosts.some(([host]) => host.startsWith('*.'))
  return {
    table,
    ways,
    trusted: trusted.length === 0 ? null : addressSet(trusted),
    wayOf(host) {
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
