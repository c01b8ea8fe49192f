import { fail, fields, list, text, texts } from './route-fields.ts'
import { parseMaintenance, type RouteMaintenance } from './route-maintenance.ts'

export { RouteTableError } from './route-fields.ts'

/**
 * What the control plane sends to the proxy: which host name leads where. Plain JSON; `generation` counts the control
 * plane's changes and is reported back by `status`.
 *
 * A table with a field this proxy does not know is refused as a whole. Rules, shares and TLS will be new fields: a proxy
 * that would serve a project without the rule in front of it is worse than one that says it is too old.
 */
export interface RouteTable {
  readonly version: 1
  readonly generation: number
  readonly routes: readonly Route[]
  /** Addresses and blocks of proxies in front, whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[]
  /** `.share.localhost`: names below it that no route has were shares, and answer 410. */
  readonly shareSuffix?: string
  /** Names `a--b` right below it that no route has are answered as those where one signs in, so that nobody learns which there are. */
  readonly signIn?: Omit<RouteSignIn, 'passes'> & { readonly suffix: string }
}

export interface Route {
  /** Names in lower case, without port or trailing dot; `*.example.org` is all names one label below. A name belongs to one route only. */
  readonly hosts: readonly string[]
  readonly project: RouteProject
  readonly target: Target
  /** The rules in front of the target. The same for every route to a project. */
  readonly rules?: RouteRules
  /** This route is a share: it ends by itself. */
  readonly share?: RouteShare
  /** Only for people who are signed in to Stackquay. */
  readonly signIn?: RouteSignIn
}

export interface RouteSignIn {
  /** Of the page that sends people back with a code. */
  readonly url: string
  /** Name of the cookie; over TLS with `__Host-` in front. */
  readonly cookie: string
  readonly passes: readonly RoutePass[]
}

/** Of one browser in which somebody is signed in. */
export interface RoutePass {
  readonly id: string
  /** SHA-256 of the cookie, in hexadecimal digits. */
  readonly hash: string
  /** Milliseconds since 1970. From then on it is none, and what is open is closed. */
  readonly expiresAt: number
}

/** Everything here has been checked by the control plane; what is absent is off. */
export interface RouteRules {
  /** Addresses and blocks that are let in; others get 403. */
  readonly allow?: readonly string[]
  /** Basic authentication; `hash` is argon2id in PHC form. */
  readonly password?: { readonly username: string; readonly hash: string }
  readonly redirects?: readonly RouteRedirect[]
  readonly requestHeaders?: readonly RouteHeader[]
  readonly responseHeaders?: readonly RouteHeader[]
  readonly cors?: RouteCors
  /** Others than those that are let in get 503. */
  readonly maintenance?: RouteMaintenance
}

export interface RouteRedirect {
  /** A path, or with `*` at its end all that begin so. */
  readonly from: string
  /** Only for this host; null: any. */
  readonly host: string | null
  /** A path or an http address; `*` at its end stands for the rest behind `from`. */
  readonly to: string
  readonly status: 301 | 302 | 307 | 308
}

/** Null removes it. */
export interface RouteHeader {
  readonly name: string
  readonly value: string | null
}

export interface RouteCors {
  /** Origins, or `*` alone. */
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  /** Empty: those that are asked for. */
  readonly headers: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly credentials: boolean
  readonly maxAgeSeconds: number
}

export interface RouteShare {
  readonly id: string
  /** Milliseconds since 1970. From then on the answer is 410, and what is open is closed. */
  readonly expiresAt: number
  /** argon2id in PHC form; absent: the address alone is enough. */
  readonly passwordHash?: string
  /** Where a program brings people from outside; absent: they come to the proxy's own address. */
  readonly entrance?: ShareListener
}

/** A port of loopback for this share alone. A request from there does not count as one from this machine. */
export interface ShareListener {
  readonly port: number
  /** Header in which the program names the client, in lower case; null: it does not, and the client is unknown. */
  readonly clientHeader: string | null
  /** As people outside know it; null: not yet. */
  readonly publicUrl: string | null
}

export interface RouteProject {
  readonly id: string
  /** Empty in front of a share, whose visitors are strangers. */
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
  /** Something is about to answer here: requests wait for the next table, at most until then (milliseconds since 1970). */
  readonly holdUntil?: number
  /** A request wakes the project, and waits so long for a table that leads to it: milliseconds from its arrival on. */
  readonly wakeWithin?: number
}

export const pageNames = ['stopped', 'starting', 'sleeping', 'failed', 'waiting', 'creating'] as const
export type PageName = (typeof pageNames)[number]

export const emptyTable: RouteTable = { version: 1, generation: 0, routes: [] }

/** Checks everything before anything is used; throws RouteTableError at the first mistake. */
export function parseRouteTable(input: unknown): RouteTable {
  const table = fields(input, 'table', ['version', 'generation', 'routes', 'trustedProxies', 'shareSuffix', 'signIn'])
  if (table.version !== 1) fail('table.version', `must be 1, not ${JSON.stringify(table.version)}`)
  if (!Number.isSafeInteger(table.generation) || (table.generation as number) < 0) {
    fail('table.generation', 'must be a whole number, 0 or more')
  }
  const routes = list(table.routes, 'routes').map((route, index) => parseRoute(route, `routes[${index}]`))
  refuseSharedHosts(routes)
  return {
    version: 1,
    generation: table.generation as number,
    routes,
    ...(table.shareSuffix !== undefined && { shareSuffix: text(table.shareSuffix, 'shareSuffix') }),
    ...(table.signIn !== undefined && { signIn: parseSuffix(table.signIn, 'signIn') }),
    ...(table.trustedProxies !== undefined && { trustedProxies: texts(table.trustedProxies, 'trustedProxies') }),
  }
}

export function parseRoute(input: unknown, at: string): Route {
  const route = fields(input, at, ['hosts', 'project', 'target', 'rules', 'share', 'signIn'])
  const hosts = list(route.hosts, `${at}.hosts`).map((host, index) => parseHost(host, `${at}.hosts[${index}]`))
  const project = parseProject(route.project, `${at}.project`)
  return {
    hosts,
    project: route.share === undefined ? project : { ...project, ...unnamed },
    target: parseTarget(route.target, `${at}.target`),
    ...(route.rules !== undefined && { rules: parseRules(route.rules, `${at}.rules`) }),
    ...(route.share !== undefined && { share: parseShare(route.share, `${at}.share`) }),
    ...(route.signIn !== undefined && { signIn: parseSignIn(route.signIn, `${at}.signIn`) }),
  }
}

/** Strangers read no name of a project, also when the table holds one: "It is not answering". */
const unnamed = { slug: '', name: 'It' }

function parseProject(input: unknown, at: string): RouteProject {
  const { id, slug, name } = fields(input, at, ['id', 'slug', 'name'])
  return { id: text(id, `${at}.id`), slug: text(slug, `${at}.slug`), name: text(name, `${at}.name`) }
}

function parseRules(input: unknown, at: string): RouteRules {
  const rules = fields(input, at, [
    ...['allow', 'password', 'redirects', 'requestHeaders', 'responseHeaders', 'cors', 'maintenance'],
  ])
  return {
    ...(rules.allow !== undefined && { allow: texts(rules.allow, `${at}.allow`) }),
    ...(rules.password !== undefined && { password: parsePassword(rules.password, `${at}.password`) }),
    ...(rules.redirects !== undefined && {
      redirects: list(rules.redirects, `${at}.redirects`).map((one, index) =>
        parseRedirect(one, `${at}.redirects[${index}]`),
      ),
    }),
    ...(rules.requestHeaders !== undefined && {
      requestHeaders: parseHeaders(rules.requestHeaders, `${at}.requestHeaders`),
    }),
    ...(rules.responseHeaders !== undefined && {
      responseHeaders: parseHeaders(rules.responseHeaders, `${at}.responseHeaders`),
    }),
    ...(rules.cors !== undefined && { cors: parseCors(rules.cors, `${at}.cors`) }),
    ...(rules.maintenance !== undefined && {
      maintenance: parseMaintenance(rules.maintenance, `${at}.maintenance`),
    }),
  }
}

function parsePassword(input: unknown, at: string): NonNullable<RouteRules['password']> {
  const { username, hash } = fields(input, at, ['username', 'hash'])
  return { username: text(username, `${at}.username`), hash: text(hash, `${at}.hash`) }
}

function parseRedirect(input: unknown, at: string): RouteRedirect {
  const { from, host, to, status } = fields(input, at, ['from', 'host', 'to', 'status'])
  if (status !== 301 && status !== 302 && status !== 307 && status !== 308)
    fail(`${at}.status`, 'must be 301, 302, 307 or 308')
  return {
    from: text(from, `${at}.from`),
    host: host === null ? null : parseHost(host, `${at}.host`),
    to: parseLocation(to, `${at}.to`),
    status,
  }
}

/** Anything else could not be sent as a header. */
function parseLocation(input: unknown, at: string): string {
  const location = text(input, at)
  return /^[\x21-\x7e]+$/.test(location) ? location : fail(at, 'must be printable ASCII without spaces')
}

/** A line end in a name or value would begin another header. */
function parseHeaders(input: unknown, at: string): readonly RouteHeader[] {
  return list(input, at).map((one, index) => {
    const here = `${at}[${index}]`
    const { name, value } = fields(one, here, ['name', 'value'])
    if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) fail(`${here}.name`, 'must be a token')
    if (value === null) return { name, value }
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      fail(`${here}.value`, 'must be text without control characters, or null')
    return { name, value }
  })
}

function parseCors(input: unknown, at: string): RouteCors {
  const cors = fields(input, at, ['origins', 'methods', 'headers', 'exposeHeaders', 'credentials', 'maxAgeSeconds'])
  if (typeof cors.credentials !== 'boolean') fail(`${at}.credentials`, 'must be true or false')
  if (!Number.isSafeInteger(cors.maxAgeSeconds)) fail(`${at}.maxAgeSeconds`, 'must be a whole number')
  return {
    origins: texts(cors.origins, `${at}.origins`),
    methods: texts(cors.methods, `${at}.methods`),
    headers: texts(cors.headers, `${at}.headers`),
    exposeHeaders: texts(cors.exposeHeaders, `${at}.exposeHeaders`),
    credentials: cors.credentials,
    maxAgeSeconds: cors.maxAgeSeconds as number,
  }
}

function parseShare(input: unknown, at: string): RouteShare {
  const { id, expiresAt, passwordHash, entrance } = fields(input, at, ['id', 'expiresAt', 'passwordHash', 'entrance'])
  if (!Number.isSafeInteger(expiresAt)) fail(`${at}.expiresAt`, 'must be milliseconds since 1970')
  return {
    id: text(id, `${at}.id`),
    expiresAt: expiresAt as number,
    ...(passwordHash !== undefined && { passwordHash: text(passwordHash, `${at}.passwordHash`) }),
    ...(entrance !== undefined && { entrance: parseShareListener(entrance, `${at}.entrance`) }),
  }
}

function parseSignIn(input: unknown, at: string): RouteSignIn {
  const { url, cookie, passes } = fields(input, at, ['url', 'cookie', 'passes'])
  return {
    url: parseWebAddress(url, `${at}.url`),
    cookie: text(cookie, `${at}.cookie`),
    passes: list(passes, `${at}.passes`).map((pass, index) => parsePass(pass, `${at}.passes[${index}]`)),
  }
}

function parsePass(input: unknown, at: string): RoutePass {
  const { id, hash, expiresAt } = fields(input, at, ['id', 'hash', 'expiresAt'])
  if (!Number.isSafeInteger(expiresAt)) fail(`${at}.expiresAt`, 'must be milliseconds since 1970')
  return { id: text(id, `${at}.id`), hash: text(hash, `${at}.hash`), expiresAt: expiresAt as number }
}

function parseSuffix(input: unknown, at: string): NonNullable<RouteTable['signIn']> {
  const { suffix, url, cookie } = fields(input, at, ['suffix', 'url', 'cookie'])
  return {
    suffix: text(suffix, `${at}.suffix`),
    url: parseWebAddress(url, `${at}.url`),
    cookie: text(cookie, `${at}.cookie`),
  }
}

function parseShareListener(input: unknown, at: string): ShareListener {
  const { port, clientHeader, publicUrl } = fields(input, at, ['port', 'clientHeader', 'publicUrl'])
  if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65535)
    fail(`${at}.port`, 'must be a port from 1 to 65535')
  return {
    port: port as number,
    clientHeader: clientHeader === null ? null : text(clientHeader, `${at}.clientHeader`),
    publicUrl: publicUrl === null ? null : parseWebAddress(publicUrl, `${at}.publicUrl`),
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
  const known = ['kind', 'page', 'title', 'detail', 'logTail', 'dashboardUrl', 'holdUntil', 'wakeWithin']
  const target = fields(input, at, known)
  const page = pageNames.find((name) => name === target.page)
  if (target.holdUntil !== undefined && !Number.isSafeInteger(target.holdUntil))
    fail(`${at}.holdUntil`, 'must be milliseconds since 1970')
  if (target.wakeWithin !== undefined && !isDuration(target.wakeWithin))
    fail(`${at}.wakeWithin`, 'must be milliseconds, at most ten minutes')
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
    ...(target.holdUntil !== undefined && { holdUntil: target.holdUntil as number }),
    ...(target.wakeWithin !== undefined && { wakeWithin: target.wakeWithin as number }),
  }
}

function isDuration(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 600_000
}

function parseHost(input: unknown, at: string): string {
  if (typeof input !== 'string' || !/^(\*\.)?[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$/.test(input)) {
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

export function refuseSharedHosts(routes: readonly Route[]): void {
  const owners = new Map<string, Route>()
  for (const route of routes) {
    for (const host of route.hosts) {
      const other = owners.get(host)
      if (other) fail('routes', `${host} belongs to both ${other.project.slug} and ${route.project.slug}`)
      owners.set(host, route)
    }
  }
}
