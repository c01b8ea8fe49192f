import { type AddressSet, addressSet } from './address-set.ts'
import { createGate, type Gate } from './gate/gate.ts'
import { HostTable } from './host-table.ts'
import { ProjectUse } from './project-use.ts'
import type { Route, RouteShare, RouteTable, UpstreamTarget } from './route-table.ts'
import type { UpstreamPool } from './upstream/pool.ts'

/** One table, ready for look-ups. Never changed: a new table is a new index, and the switch is one assignment. */
export interface RouteIndex {
  readonly table: RouteTable
  /** The route of a name: its own, else that of the wildcard one label above. */
  routeOf(host: string): IndexedRoute | undefined
  readonly all: readonly IndexedRoute[]
  /** By project, kept from table to table. */
  readonly uses: ReadonlyMap<string, ProjectUse>
  /** Null when no proxy in front is trusted. */
  readonly trusted: AddressSet | null
}

/** Of names that nobody has. */
export const strangersProject = ''

/**
 * A route with all that a request needs of it, in one object because of a thousand busy hosts: the data of one is
 * in no cache of the processor when its next request comes, and each look-up of another object costs a trip to memory.
 */
export class IndexedRoute {
  readonly spec: Route
  /** Id of the project. */
  readonly project: string
  readonly share: RouteShare | null
  /** The rules in front; null when there are none. */
  readonly gate: Gate | null
  /** Null when a page answers. */
  readonly target: UpstreamTarget | null
  readonly use: ProjectUse
  /** Connections to the target, once they were asked for. */
  pool: UpstreamPool | null = null

  constructor(spec: Route, use: ProjectUse) {
    this.spec = spec
    this.use = use
    this.project = spec.project.id
    this.share = spec.share ?? null
    this.gate = createGate(spec)
    this.target = spec.target.kind === 'upstream' ? spec.target : null
  }
}

/** Keeps the index of each route that is in both tables. */
export function indexRoutes(table: RouteTable, before?: RouteIndex): RouteIndex {
  const made = new Map(before?.all.map((route) => [route.spec, route]))
  // Made before the table is used: one that cannot be understood is refused as a whole.
  const uses = new Map<string, ProjectUse>()
  for (const { project } of table.routes)
    if (!uses.has(project.id)) uses.set(project.id, before?.uses.get(project.id) ?? new ProjectUse())
  const all = table.routes.map((spec) => made.get(spec) ?? new IndexedRoute(spec, uses.get(spec.project.id)!))
  const hosts = all.flatMap((route) => route.spec.hosts.map((host) => [host, route] as const))
  const byHost = new HostTable(hosts)
  const trusted = table.trustedProxies ?? []
  const strangers = strangersOf(table)
  const hasWildcards = hosts.some(([host]) => host.startsWith('*.'))
  return {
    table,
    all,
    uses,
    trusted: trusted.length === 0 ? null : addressSet(trusted),
    routeOf(host) {
      const own = byHost.get(host)
      if (own !== undefined) return own
      const dot = host.indexOf('.')
      const wild = dot === -1 || !hasWildcards ? undefined : byHost.get(`*${host.slice(dot)}`)
      return wild ?? strangers(host)
    },
  }
}

/** Answers for names that might be those of a page of a service. */
function strangersOf({ signIn }: RouteTable): (host: string) => IndexedRoute | undefined {
  if (signIn === undefined) return () => undefined
  const { suffix, url, cookie } = signIn
  const project = { id: strangersProject, slug: '', name: '' }
  const target = { kind: 'page', page: 'stopped' } as const
  const route = new IndexedRoute({ hosts: [], project, target, signIn: { url, cookie, passes: [] } }, new ProjectUse())
  return (host) => {
    if (!host.endsWith(suffix)) return undefined
    const label = host.slice(0, -suffix.length)
    return label.includes('--') && !label.includes('.') ? route : undefined
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
