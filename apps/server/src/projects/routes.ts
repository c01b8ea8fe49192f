import { visibleText } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import type { PageName, Route, RouteTable, Target } from '@stackquay/proxy/route-table'
import type { Config } from '../config.ts'
import type { Network } from '../network/network.ts'
import { routeRules } from '../network/route-rules.ts'
import { shareEntrance } from '../network/share-entrance.ts'
import type { Known, Model } from './model.ts'
import type { Resolver } from './resolver.ts'

/** Tells the proxy which host leads where, whenever that changed. One table at a time; what changed meanwhile comes in the next. */
export interface Routes {
  publish(): Promise<void>
  /** From the next table on, requests to the workload wait, until `let` is called or the time is over. */
  hold(project: string, workload: string, until: number): { let(): void }
}

export interface RoutesOptions {
  readonly model: () => Model
  readonly resolver: Resolver
  readonly engine: Engine
  readonly config: Config
  readonly network: Network
  put(table: RouteTable): Promise<void>
  onError(error: unknown, what: string): void
}

export function createRoutes(options: RoutesOptions): Routes {
  const { config, resolver } = options
  let generation = Date.now()
  let last = ''
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null
  const holds = new Map<string, number>()

  const once = async () => {
    const known = options.model().all()
    const own = new Set(known.flatMap((one) => ownHosts(one, resolver).map(({ host }) => host)))
    const routes = (await Promise.all(known.map((one) => routesOf(one, { ...options, holds, own })))).flat()
    const text = JSON.stringify(routes)
    if (text === last) return
    generation += 1
    await options.put({
      version: 1,
      generation,
      routes,
      shareSuffix: `.${resolver.shareDomain}`,
      ...(config.trustedProxies.length > 0 && { trustedProxies: config.trustedProxies }),
    })
    last = text
  }

  const run = (): Promise<void> => {
    running = once()
      .catch((error: unknown) => options.onError(error, 'telling the proxy'))
      .finally(() => {
        running = null
      })
    return running
  }
  const publish = (): Promise<void> => {
    if (running === null) return run()
    // The one on its way may have been made before what this caller changed: all who come now wait for the one after it.
    next ??= running.then(() => {
      next = null
      return running ?? run()
    })
    return next
  }
  return {
    publish,
    hold: (project, workload, until) => {
      const key = `${project} ${workload}`
      holds.set(key, until)
      return {
        let: () => {
          if (holds.get(key) === until) holds.delete(key)
        },
      }
    },
  }
}

type Making = RoutesOptions & {
  readonly holds: ReadonlyMap<string, number>
  /** The names that come with the projects. */
  readonly own: ReadonlySet<string>
}

function ownHosts({ row, resolved }: Known, resolver: Resolver) {
  const extra = resolved.extraHosts.map(({ prefix, suffix, workload }) => ({
    host: resolver.host(row.slug, suffix, prefix),
    workload,
  }))
  return [{ host: resolver.host(row.slug), workload: null }, ...extra]
}

/** All ways into one project are made here, with the same rules before each of them. */
async function routesOf(known: Known, options: Making): Promise<readonly Route[]> {
  const { row, resolved } = known
  const { resolver, network, own } = options
  const { domains, rules, share } = network.of(row.id)
  const project = { id: row.id, slug: row.slug, name: visibleText(row.spec.name) }
  const before = routeRules(rules?.rules)
  const common = { project, ...(before !== undefined && { rules: before }) }

  /** Where each host leads: null to what owns the URL. */
  const hostsOf = new Map<string | null, string[]>()
  const add = (workload: string | null, host: string) => hostsOf.set(workload, [...(hostsOf.get(workload) ?? []), host])
  for (const { host, workload } of ownHosts(known, resolver)) add(workload, host)
  for (const { workload, host } of domains) {
    // Added under another base domain than today's; a table in which a name stands twice is refused as a whole.
    if (!own.has(host)) add(workload === resolved.front?.workload ? null : workload, host)
  }

  const entrance = (workload: string | null) => (workload === null ? resolved.front : { workload, port: 'http' })
  const routes = [...hostsOf].map(
    async ([workload, hosts]): Promise<Route> => ({
      ...common,
      hosts,
      target: await targetOf(known, entrance(workload), options, 'people'),
    }),
  )
  if (share !== null) {
    routes.push(
      targetOf(known, entrance(share.workload), options, 'strangers').then((target) => ({
        ...common,
        hosts: [share.host],
        target,
        share: {
          id: share.id,
          expiresAt: Date.parse(share.expiresAt),
          ...(share.passwordHash !== null && { passwordHash: share.passwordHash }),
          ...shareEntrance(share, known),
        },
      })),
    )
  }
  return Promise.all(routes)
}

async function targetOf(
  known: Known,
  to: { readonly workload: string; readonly port: string } | null,
  { model, engine, config, holds }: Making,
  readers: 'people' | 'strangers',
): Promise<Target> {
  const { row } = known
  const status = model().status(row.id)
  const workload = status.workloads.find((candidate) => candidate.name === to?.workload)
  const until = to === null ? undefined : holds.get(`${row.id} ${to.workload}`)
  // Whatever became of who held it: once its time is over the target is what it would be without.
  const held = until !== undefined && until > Date.now() ? until : undefined
  // A program that never became ready has no address worth trying; one that was healthy before may still answer, and one of
  // which the engine says nothing now is where it was last seen.
  const answers =
    workload?.state === 'running' ||
    workload?.state === 'stopping' ||
    workload?.state === 'unknown' ||
    workload?.health === 'unhealthy'
  if (to !== null && answers && held === undefined) {
    const address = await engine.address({ project: row.id, workload: to.workload }, to.port)
    if (address !== null) return { kind: 'upstream', host: address.host, port: address.port }
  }
  const page = held === undefined ? pageFor(status.state, workload?.state) : 'starting'
  const hold = held === undefined ? {} : { holdUntil: held }
  // Strangers learn neither the project's name nor what it printed.
  if (readers === 'strangers') return { kind: 'page', page, title: strangersTitle, ...hold }
  return {
    kind: 'page',
    page,
    ...detailOf(status, workload),
    ...hold,
    dashboardUrl: `${config.publicUrl}/projects/${row.slug}`,
  }
}

const strangersTitle = 'It is not answering now'

function pageFor(project: string, workload: string | undefined): PageName {
  if (project === 'creating') return 'creating'
  if (workload === 'waiting' || project === 'unknown') return 'waiting'
  if (workload === 'crashed' || workload === 'unhealthy' || project === 'failed') return 'failed'
  if (project === 'starting' || workload === 'starting' || workload === 'backing-off') return 'starting'
  return 'stopped'
}

function detailOf(
  status: ReturnType<Model['status']>,
  workload: ReturnType<Model['status']>['workloads'][number] | undefined,
): { detail?: string; logTail?: readonly string[] } {
  const detail = workload?.reason ?? status.warnings[0]?.detail
  const logTail = workload?.logTail ?? []
  return { ...(detail == null ? {} : { detail }), ...(logTail.length === 0 ? {} : { logTail }) }
}
