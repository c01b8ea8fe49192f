import type { Engine } from '@stackquay/engine-api'
import {
  createObservations,
  createProjectQueues,
  createWatches,
  type Observations,
  type ProjectQueues,
  type Watches,
} from '@stackquay/orchestrator'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Network } from '../network/network.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import type { PagePasses } from '../service-pages/passes.ts'
import { type CronMemory, createCronMemory } from './cron-memory.ts'
import { limitsUnavailable } from './engine-limits.ts'
import { createLateArchives, type LateArchives } from './late-archives.ts'
import { createModel, type Model } from './model.ts'
import { createEntries } from './model-entry.ts'
import { createProgressLog } from './progress-log.ts'
import type { Resolver } from './resolver.ts'
import { createRoutes, type Routes } from './routes.ts'
import { createTelling } from './telling.ts'

/** What is known of all projects, and who is told of it. Each is made from those above it: none asks back. */
export interface Projects {
  readonly queues: ProjectQueues
  readonly observations: Observations
  readonly watches: Watches
  readonly late: LateArchives
  readonly cron: CronMemory
  /** Of what looks at workloads and starts them again. */
  readonly life: AbortController
  readonly routes: Routes
  readonly model: Model
  readonly progressLog: ReturnType<typeof createProgressLog>
  /** From now on the proxy is told: all projects were looked at. */
  lookedAt(): void
  isLookedAt(): boolean
}

export function openProjects({
  store,
  resolver,
  engine,
  named,
  config,
  network,
  passes,
  keeper,
  now,
  onError,
}: {
  readonly store: Store
  readonly resolver: Resolver
  readonly engine: Engine
  /** The engine of this name; null when it is not open. */
  named(name: ProjectRow['engine']): Engine | null
  readonly config: Config
  readonly network: Network
  readonly passes: PagePasses
  readonly keeper: ProxyKeeper | null
  readonly now: () => Date
  onError(error: unknown, what: string): void
}): Projects {
  const life = new AbortController()
  const observations = createObservations(engine, life.signal)
  const watches = createWatches()
  const late = createLateArchives()
  const cron = createCronMemory(store, now)
  const entries = createEntries({ observations, watches, late, cron })
  const put = async (publication: Parameters<ProxyKeeper['put']>[0]) => keeper?.put(publication)
  const routes = createRoutes({ projects: entries, resolver, engine, config, network, passes, put, onError })
  let isLookedAt = false
  // Before all were looked at, those that were not would seem to be stopped; the proxy goes on with the table it has.
  const publish = async (projects: readonly string[]) => {
    if (isLookedAt) await routes.publish(projects)
  }
  const telling = createTelling(entries, { store, publish, onError, now })
  const model = createModel({
    store,
    resolver,
    entries,
    telling,
    observations,
    watches,
    cron,
    publish,
    limitsUnavailable: (name) => limitsUnavailable(named(name)),
    now,
  })
  return {
    queues: createProjectQueues(),
    observations,
    watches,
    late,
    cron,
    life,
    routes,
    model,
    progressLog: createProgressLog({ store, model, now, onError }),
    lookedAt: () => {
      isLookedAt = true
    },
    isLookedAt: () => isLookedAt,
  }
}
