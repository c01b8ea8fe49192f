/**
 * What the control plane tells the proxy: which host name leads where. Plain JSON; `generation` counts the control
 * plane's changes and is reported back by `status`.
 *
 * A table with a field this proxy does not know is refused as a whole. Rules, shares and TLS will be new fields: a proxy
 * that would serve a project without the rule in front of it is worse than one that says it is too old.
 */
export interface RouteTable {
  readonly version: 1
  readonly generation: number
  readonly routes: readonly Route[]
}

export interface Route {
  /** Exact names in lower case, without port or trailing dot. A name belongs to one route only. */
  readonly hosts: readonly string[]
  readonly project: RouteProject
  readonly target: Target
}

export interface RouteProject {
  readonly id: string
  readonly slug: string
  readonly name: string
}

export type Target = UpstreamTarget | PageTarget

export interface UpstreamTarget {
  readonly kind: 'upstream'
  readonly host: string
  readonly port: number
}

export interface PageTarget {
  readonly kind: 'page'
  readonly page: PageName
  /** Replaces the page's own headline. */
  readonly title?: string
  /** One sentence about what is true now: the reason of a failure, the step that runs. */
  readonly detail?: string
  /** Last lines of output, shown as they are. */
  readonly logTail?: readonly string[]
  /** Where a person can act: `http` or `https` only. */
  readonly dashboardUrl?: string
}

export const pageNames = ['stopped', 'starting', 'failed', 'waiting', 'creating'] as const
export type PageName = (typeof pageNames)[number]

export const emptyTable: RouteTable = { version: 1, generation: 0, routes: [] }

/** Says where in the table the mistake is: `routes[3].target.port must be …`. */
export class RouteTableError extends Error {
  override readonly name = 'RouteTableError'
}

/** Checks everything before anything is used; throws RouteTableError at the first mistake. */
export function parseRouteTable(input: unknown): RouteTable {
  const table = fields(input, 'table', ['version', 'generation', 'routes'])
  if (table.version !== 1) fail('table.version', `must be 1, not ${JSON.stringify(table.version)}`)
  if (!Number.isSafeInteger(table.generation) || (table.generation as number) < 0) {
    fail('table.generation', 'must be a whole number, 0 or more')
  }
  const routes = list(table.routes, 'routes').map((route, index) => parseRoute(route, `routes[${index}]`))
  refuseSharedHosts(routes)
  return { version: 1, generation: table.generation as number, routes }
}

function parseRoute(input: unknown, at: string): Route {
  const route = fields(input, at, ['hosts', 'project', 'target'])
  const hosts = list(route.hosts, `${at}.hosts`).map((host, index) => parseHost(host, `${at}.hosts[${index}]`))
  const project = fields(route.project, `${at}.project`, ['id', 'slug', 'name'])
  return {
    hosts,
    project: {
      id: text(project.id, `${at}.project.id`),
      slug: text(project.slug, `${at}.project.slug`),
      name: text(project.name, `${at}.project.name`),
    },
    target: parseTarget(route.target, `${at}.target`),
  }
}

function parseTarget(input: unknown, at: string): Target {
  const kind = input !== null && typeof input === 'object' ? (input as { kind?: unknown }).kind : undefined
  if (kind === 'upstream') return parseUpstream(input, at)
  if (kind === 'page') return parsePage(input, at)
  return fail(`${at}.kind`, 'must be "upstream" or "page"')
}

function parseUpstream(input: unknown, at: string): UpstreamTarget {
  const { host, port } = fields(input, at, ['kind', 'host', 'port'])
  if (typeof host !== 'string' || !/^[a-z0-9:._-]+$/i.test(host))
    fail(`${at}.host`, 'must be a host name or an address')
  if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65535) {
    fail(`${at}.port`, 'must be a port from 1 to 65535')
  }
  return { kind: 'upstream', host, port: port as number }
}

function parsePage(input: unknown, at: string): PageTarget {
  const target = fields(input, at, ['kind', 'page', 'title', 'detail', 'logTail', 'dashboardUrl'])
  const page = pageNames.find((name) => name === target.page)
  if (page === undefined) fail(`${at}.page`, `must be one of ${pageNames.join(', ')}`)
  return {
    kind: 'page',
    page,
    ...(target.title !== undefined && { title: text(target.title, `${at}.title`) }),
    ...(target.detail !== undefined && { detail: text(target.detail, `${at}.detail`) }),
    ...(target.logTail !== undefined && {
      logTail: list(target.logTail, `${at}.logTail`).map((line, index) => text(line, `${at}.logTail[${index}]`)),
    }),
    ...(target.dashboardUrl !== undefined && {
      dashboardUrl: parseWebAddress(target.dashboardUrl, `${at}.dashboardUrl`),
    }),
  }
}

function parseHost(input: unknown, at: string): string {
  if (typeof input !== 'string' || !/^[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$/.test(input)) {
    fail(at, `must be a host name in lower case without port, not ${JSON.stringify(input)}`)
  }
  return input
}

/** `javascript:` and the like must never become a link on a page. */
function parseWebAddress(input: unknown, at: string): string {
  if (typeof input !== 'string' || !/^https?:\/\//i.test(input) || !URL.canParse(input)) {
    fail(at, 'must be an http or https address')
  }
  return input
}

function refuseSharedHosts(routes: readonly Route[]): void {
  const owners = new Map<string, Route>()
  for (const route of routes) {
    for (const host of route.hosts) {
      const other = owners.get(host)
      if (other) fail('routes', `${host} belongs to both ${other.project.slug} and ${route.project.slug}`)
      owners.set(host, route)
    }
  }
}

function fields(input: unknown, at: string, known: readonly string[]): Record<string, unknown> {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) fail(at, 'must be an object')
  const unknown = Object.keys(input).find((key) => !known.includes(key))
  if (unknown !== undefined) fail(`${at}.${unknown}`, 'is not known to this proxy')
  return input as Record<string, unknown>
}

function list(input: unknown, at: string): readonly unknown[] {
  return Array.isArray(input) ? input : fail(at, 'must be a list')
}

function text(input: unknown, at: string): string {
  return typeof input === 'string' ? input : fail(at, 'must be a text')
}

function fail(at: string, what: string): never {
  throw new RouteTableError(`${at} ${what}`)
}
