import { visibleText } from '@stackquay/contract'
import { serviceTypeIn } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { RouteChanges } from '@stackquay/proxy/route-changes'
import type { PageName, Route, RouteRules, RouteTable, Target } from '@stackquay/proxy/route-table'
import type { Config } from '../config.ts'
import type { Network, ProjectNetwork } from '../network/network.ts'
import { routeRules } from '../network/route-rules.ts'
import { shareListener } from '../network/share-listener.ts'
import type { PagePasses } from '../service-pages/passes.ts'
import { formerHosts, ownHosts, pageHosts } from './hosts-of-project.ts'
import type { Entries, Entry, Known, Status } from './model-entry.ts'
import type { Resolver } from './resolver.ts'
import { createRouteNames, type RouteNames } from './route-names.ts'
import { signInOf, signInWith } from './route-sign-in.ts'
import { workDone } from './work-done.ts'

/**
 * Tells the proxy which host leads where, whenever that changed. Only the projects that changed are looked at, and only what differs is
 * told. One publication at a time; what changed meanwhile comes in the next.
 */
export interface Routes {
  /** Ends when the proxy has the routes of these projects as they are now, and of those that are held or were let go. */
  publish(projects?: Iterable<string>): Promise<void>
  /** The same for all there are. */
  publishAll(): Promise<void>
  /** The same with what the table says beside the routes, after the settings changed. */
  publishTable(): Promise<void>
  /** From the next publication on, requests to the workload wait, until `let` is called or the time is over. */
  hold(project: string, workload: string, until: number): { let(): void }
}

/** How the routes differ from the last time, and what they are. */
export interface Publication {
  readonly changes: RouteChanges
  /** All routes, as they are when it is called, for a proxy that has others than these changes stand on. */
  whole(): RouteTable
}

export interface RoutesOptions {
  readonly projects: Pick<Entries, 'all' | 'find' | 'status'>
  readonly resolver: Resolver
  readonly engine: Engine
  readonly config: Config
  readonly network: Network
  readonly passes: Pick<PagePasses, 'of' | 'cookie'>
  put(publication: Publication): Promise<void>
  onError(error: unknown, what: string): void
}

export function createRoutes(options: RoutesOptions): Routes {
  const { projects } = options
  let generation = Date.now()
  /** By project, as the last publication told them. */
  const told = new Map<string, Made>()
  const changed = new Set<string>()
  const names = createRouteNames()
  const holds: Holds = new Map()
  let [isTold, isTableNew] = [false, false]
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null

  const whole = () => tableOf(generation, told, options)
  const once = async () => {
    let isWhole = false
    const due = new Set([...changed, ...holds.keys()])
    changed.clear()
    try {
      const different = await differencesOf(due, told, { ...options, holds, names })
      // The first time also when there is nothing: the proxy may have routes from before.
      if (different.length === 0 && isTold && !isTableNew) return
      for (const { project, routes, text } of different) {
        if (routes.length === 0) told.delete(project)
        else told.set(project, { routes, text })
      }
      ;[isWhole, isTableNew] = [isTableNew, false]
      const since = isWhole ? noGeneration : generation
      generation += 1
      isTold = true
      const changed = different.map(({ project, routes }) => ({ project, routes }))
      for (const { project } of changed) workDone.published.publish(project)
      await options.put({ changes: { version: 1, generation, since, projects: changed }, whole })
    } catch (error) {
      for (const id of due) changed.add(id)
      isTableNew ||= isWhole
      throw error
    }
  }

  const run = (): Promise<void> => {
    running = once()
      .catch((error: unknown) => options.onError(error, 'telling the proxy'))
      .finally(() => {
        running = null
      })
    return running
  }
  const publish = (projects: Iterable<string> = []): Promise<void> => {
    for (const project of projects) changed.add(project)
    if (running === null) return run()
    // The one on its way may have been made before what this caller changed: all who come now wait for the one after it.
    next ??= running.then(() => {
      next = null
      return running ?? run()
    })
    return next
  }
  const publishAll = () => publish([...projects.all().map(({ row }) => row.id), ...told.keys()])
  return {
    publish,
    publishAll,
    publishTable: () => {
      isTableNew = true
      return publishAll()
    },
    hold: (project, workload, until) => {
      const ofProject = holds.get(project) ?? new Map<string, number>()
      holds.set(project, ofProject.set(workload, until))
      changed.add(project)
      return {
        let: () => {
          if (ofProject.get(workload) !== until) return
          changed.add(project)
          ofProject.delete(workload)
          if (ofProject.size === 0 && holds.get(project) === ofProject) holds.delete(project)
        },
      }
    },
  }
}

/** Smaller than any: changes that stand on it make the proxy be given the whole table. */
const noGeneration = 0

/** All routes of one project. */
interface Made {
  readonly routes: readonly Route[]
  readonly text: string
}

function tableOf(
  generation: number,
  told: ReadonlyMap<string, Made>,
  { config, resolver, passes }: Pick<RoutesOptions, 'config' | 'resolver' | 'passes'>,
): RouteTable {
  return {
    version: 1,
    generation,
    routes: [...told.values()].flatMap(({ routes }) => routes),
    shareSuffix: `.${resolver.shareDomain}`,
    signIn: { suffix: `.${config.baseDomain}`, ...signInWith({ config, passes }) },
    ...(config.trustedProxies.length > 0 && { trustedProxies: config.trustedProxies }),
  }
}

/** Of these projects, and of those that have a name which became or ceased to be one of theirs, the routes that are not as they were told. */
async function differencesOf(
  due: Set<string>,
  told: ReadonlyMap<string, Made>,
  making: Making,
): Promise<readonly (Made & { readonly project: string })[]> {
  const { projects, network, resolver, names } = making
  // All of them as they are at one moment: a name that moves from one to another must not be seen with both.
  const seen = new Map<string, Seen | null>()
  // Names first: the set grows by those who have one that is another project's now.
  for (const id of due) {
    const known = projects.find(id)
    const one = known === null ? null : { known, network: network.of(id) }
    seen.set(id, one)
    const given = one === null ? [] : one.network.domains.map(({ host }) => host)
    const own =
      one === null
        ? []
        : [
            ...ownHosts(one.known, resolver),
            ...pageHosts(one.known, resolver),
            ...formerHosts(one.known, one.network, resolver),
          ]
    for (const other of names.renew(
      id,
      own.map(({ host }) => host),
      given,
    ))
      due.add(other)
  }
  const different = []
  for (const [project, one] of seen) {
    const routes = one === null ? [] : await routesOf(one, making)
    const text = JSON.stringify(routes)
    if (text !== (told.get(project)?.text ?? '[]')) different.push({ project, routes, text })
  }
  return different
}

/** A project and what stands between the world and it. */
interface Seen {
  readonly known: Entry
  readonly network: ProjectNetwork
}

/** Until when requests to a workload wait, in ms since 1970: by project, then by workload. */
type Holds = Map<string, Map<string, number>>

type Making = RoutesOptions & {
  readonly holds: Holds
  readonly names: RouteNames
}

/** No search engine keeps what is there for a few days. What a person set of it stays. */
function withoutRobots({ source }: Known['row'], rules: RouteRules | undefined): RouteRules | undefined {
  const headers = rules?.responseHeaders ?? []
  const robots = 'X-Robots-Tag'
  if (source?.kind !== 'branch' || headers.some(({ name }) => name.toLowerCase() === robots.toLowerCase())) return rules
  return { ...rules, responseHeaders: [...headers, { name: robots, value: 'noindex' }] }
}

/** All ways into one project are made here, with the same rules before each of them. */
async function routesOf({ known, network: ownNetwork }: Seen, options: Making): Promise<readonly Route[]> {
  const { row, resolved } = known
  const { resolver, names } = options
  const { domains, rules, share } = ownNetwork
  const project = { id: row.id, slug: row.slug, name: visibleText(row.spec.name) }
  const before = withoutRobots(row, routeRules(rules?.rules))
  const signIn = signInOf(row.id, rules, options)
  const common = { project, ...(before !== undefined && { rules: before }) }

  /** Where each host leads: null to what owns the URL. */
  const hostsOf = new Map<string | null, string[]>()
  const add = (workload: string | null, host: string) => hostsOf.set(workload, [...(hostsOf.get(workload) ?? []), host])
  for (const { host, workload } of ownHosts(known, resolver)) add(workload, host)
  for (const { workload, host } of domains) {
    // Added under another base domain than today's; a table in which a name stands twice is refused as a whole.
    if (!names.isOwn(host)) add(workload === resolved.front?.workload ? null : workload, host)
  }

  const status = options.projects.status(row.id)
  const entrance = (workload: string | null) => (workload === null ? resolved.front : { workload, port: 'http' })
  const routes = [...hostsOf].map(
    async ([workload, hosts]): Promise<Route> => ({
      ...common,
      ...signIn,
      hosts,
      target: await targetOf(known, status, entrance(workload), options, 'people'),
    }),
  )
  for (const { host, to } of formerHosts(known, ownNetwork, resolver)) {
    // 308 keeps method and body. Whoever may not come in is not told the new name either.
    const redirects = [{ from: '/*', host: null, to: `${resolver.urlOf(to)}/*`, status: 308 as const }]
    const rules = { ...(before?.allow !== undefined && { allow: before.allow }), redirects }
    routes.push(
      Promise.resolve({ project, rules, ...signIn, hosts: [host], target: { kind: 'page', page: 'stopped' } }),
    )
  }
  routes.push(...pageRoutesOf(known, { project, rules: before }, status, options))
  if (share !== null) {
    routes.push(
      targetOf(known, status, entrance(share.workload), options, 'strangers').then((target) => ({
        ...common,
        hosts: [share.host],
        target,
        share: {
          id: share.id,
          expiresAt: Date.parse(share.expiresAt),
          ...(share.passwordHash !== null && { passwordHash: share.passwordHash }),
          ...shareListener(share, known),
        },
      })),
    )
  }
  return Promise.all(routes)
}

/**
 * Only addresses that are let in to the project are let in here too. Its other rules are those of its application: a password stands in the same
 * header as that of the page of a broker, and redirects are of paths that are others here.
 */
function pageRoutesOf(
  known: Entry,
  { project, rules }: { readonly project: Route['project']; readonly rules: RouteRules | undefined },
  status: Status,
  options: Making,
): readonly Promise<Route>[] {
  const { row } = known
  return pageHosts(known, options.resolver)
    .filter(({ host }) => options.names.isOwnOf(row.id, host))
    .map(async ({ host, workload, port }): Promise<Route> => {
      const label = serviceTypeIn(row.spec, workload)?.label ?? workload
      return {
        hosts: [host],
        project: { ...project, name: `${visibleText(label)} of ${project.name}` },
        ...(rules?.allow !== undefined && { rules: { allow: rules.allow } }),
        signIn: { ...signInWith(options), passes: options.passes.of(row.id, workload) },
        target: await targetOf(known, status, { workload, port }, options, 'people'),
      }
    })
}

async function targetOf(
  { row, operations }: Entry,
  status: Status,
  to: { readonly workload: string; readonly port: string } | null,
  { engine, config, holds }: Making,
  readers: 'people' | 'strangers',
): Promise<Target> {
  const workload = status.workloads.find((candidate) => candidate.name === to?.workload)
  const until = to === null ? undefined : holds.get(row.id)?.get(to.workload)
  // Whatever became of who held it: once its time is over the target is what it would be without.
  const held = until !== undefined && until > Date.now() ? until : undefined
  // A program that never became ready has no address worth trying; one that was healthy before may still answer, and one of
  // which the engine says nothing now is where it was last seen.
  const answers =
    workload?.state === 'running' ||
    workload?.state === 'stopping' ||
    workload?.state === 'unknown' ||
    workload?.health === 'unhealthy'
  // Also while it is being stopped: whoever comes now is answered after it.
  const isAsleep = row.desired === 'sleeping'
  if (to !== null && answers && held === undefined && !isAsleep) {
    const address = await engine.address({ project: row.id, workload: to.workload }, to.port)
    if (address !== null) return { kind: 'upstream', host: address.host, port: address.port }
  }
  const isWaking = operations.some(({ kind }) => kind === 'wake')
  const page = isAsleep
    ? 'sleeping'
    : isWaking || held !== undefined
      ? 'starting'
      : pageFor(status.state, workload?.state)
  const hold = isAsleep || isWaking ? { wakeWithin: wakeMs } : held === undefined ? {} : { holdUntil: held }
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

/** Longer than most projects need to come up, and as long as clients usually wait. */
const wakeMs = 60_000

const strangersTitle = 'It is not answering now'

function pageFor(project: string, workload: string | undefined): PageName {
  if (project === 'creating') return 'creating'
  if (workload === 'waiting' || project === 'unknown') return 'waiting'
  if (workload === 'crashed' || workload === 'unhealthy' || project === 'failed') return 'failed'
  if (project === 'starting' || workload === 'starting' || workload === 'backing-off') return 'starting'
  return 'stopped'
}

function detailOf(
  status: Status,
  workload: Status['workloads'][number] | undefined,
): { detail?: string; logTail?: readonly string[] } {
  const detail = workload?.reason ?? status.warnings[0]?.detail
  const logTail = workload?.logTail ?? []
  return { ...(detail == null ? {} : { detail }), ...(logTail.length === 0 ? {} : { logTail }) }
}
