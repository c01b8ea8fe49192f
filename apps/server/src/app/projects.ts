import { instanceId } from '../access/session-origin.ts'
import { createNetwork, type Network } from '../network/network.ts'
import type { InheritedSockets } from '../ports/inherited-sockets.ts'
import { forgetDeleted } from '../projects/forget-deleted.ts'
import { openProjects, type Projects } from '../projects/open-projects.ts'
import { createPublished, createPublishedTable, type Published } from '../projects/published.ts'
import { openProxyKeeper, type ProxyKeeper } from '../proxy-keeper.ts'
import { createPagePasses, type PagePasses, watchPagePasses } from '../service-pages/passes.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Resolving } from './resolving.ts'

/** What is known of projects, and the proxy that is told of it. */
export interface KnownProjects extends Projects {
  /** Domains, rules and shares, as they are stored. */
  readonly network: Network
  /** Who may come in to pages of services. */
  readonly passes: PagePasses
  /** Null where the settings want no proxy. */
  readonly keeper: ProxyKeeper | null
  readonly published: Published
  /** The same for the whole table, after settings changed. */
  publishedTable(): Promise<void>
  /** Addresses of before a rename lead to these projects no longer. */
  namesExpired(projects: readonly string[]): Promise<void>
  /** Ends when all that was seen is written down. */
  settled(): Promise<void>
  /** Looks after the proxy no more, which goes on. */
  close(): void
}

export function openKnownProjects(
  {
    instance: { store, engine, engines },
    resolving: { resolver, images },
    sockets,
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine' | 'engines'>
    readonly resolving: Pick<Resolving, 'resolver' | 'images'>
    /** Listening sockets for the proxy, from systemd. */
    readonly sockets: InheritedSockets
  },
  { config, now, onError, signal }: Pick<AppContext, 'config' | 'now' | 'onError' | 'signal'>,
): KnownProjects {
  const network = createNetwork(store)
  const passes = createPagePasses(store, () => instanceId(store))
  const keeper = openProxyKeeper({ config, sockets, onError })
  const stopForgetting = forgetDeleted({ store, resolver, keeper, onError })
  const { named } = engines
  const projects = openProjects({ store, resolver, engine, named, config, network, passes, keeper, now, onError })
  const { observations, routes, model, progressLog } = projects
  observations.onChange((project) => images.observed(project, observations.of(project)))
  const published = createPublished(routes, signal)
  const stopWatching = watchPagePasses({ store, passes, publish: routes.publish, onError })
  return {
    ...projects,
    network,
    passes,
    keeper,
    published,
    publishedTable: createPublishedTable(routes, signal),
    namesExpired: async (ids) => {
      await Promise.all(ids.map((id) => network.renew(id)))
      await published(...ids)
    },
    settled: async () => {
      await progressLog.flush()
      await model.settled()
      await images.settled()
    },
    close: () => {
      stopForgetting()
      stopWatching()
      projects.cron.close()
      keeper?.close()
    },
  }
}
