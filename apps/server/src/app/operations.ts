import { createOrchestrator, type Orchestrator } from '@stackquay/orchestrator'
import { StoreFullError } from '@stackquay/store'
import type { Backups } from '../backups/open-backups.ts'
import type { ReceivedDumps } from '../dumps/received-dumps.ts'
import { createLeaving } from '../isolation/leaving.ts'
import type { Provision } from '../isolation/provision.ts'
import { createOperationHandlers } from '../operations/index.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { createRestartHolds, type RestartHolds } from '../projects/restart-holds.ts'
import { reconcile } from '../resume/operations.ts'
import type { Commands } from './commands.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'

export interface Operations {
  readonly orchestrator: Orchestrator
  readonly restartHolds: RestartHolds
}

/** Who carries operations out: the orchestrator, with what each kind of operation does. */
export function openOperations(
  changing: Omit<ChangeDeps, 'orchestrator'>,
  {
    instance: { isolation, reveal },
    resolving: { files, filesOf, sources, repositories, gitHalf },
    projects: { queues, watches, routes, progressLog, life, isLookedAt, keeper, published, network },
    commands: { runs, terminals, testEnvironments },
    provision,
    backups,
    receivedDumps,
  }: {
    readonly instance: Pick<Instance, 'isolation' | 'reveal'>
    readonly resolving: Pick<Resolving, 'files' | 'filesOf' | 'sources' | 'repositories' | 'gitHalf'>
    readonly projects: KnownProjects
    readonly commands: Commands
    readonly provision: Provision
    readonly backups: Backups
    readonly receivedDumps: ReceivedDumps
  },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): Operations {
  const { store, engine, model, observations } = changing
  const restartHolds = createRestartHolds({
    routes,
    engine,
    published: () => published(),
    flights: async (host, port) => (keeper === null ? { requests: 0 } : keeper.flights(host, port)),
    look: observations.current,
    now,
  })
  const work = createOperationHandlers({
    ...changing,
    ...createLeaving({ isolation, files, config, onError }),
    sources,
    config,
    accounts: isolation.accounts,
    provision,
    filesOf,
    files,
    repositories,
    gitHalf,
    reveal,
    carries: progressLog.carries,
    runs,
    terminals,
    restartHolds,
    proxyUses: async () => keeper?.uses(),
    queues,
    watches,
    backups,
    receivedDumps,
    network,
    testEnvironments,
    now,
  })
  const orchestrator = createOrchestrator({
    engine,
    queues,
    observations,
    watches,
    life,
    reveal,
    progressLog,
    work,
    wanted: model.wanted,
    projects: () => model.all().map(({ row }) => row.id),
    onError,
    hasNoRoom: (error) => error instanceof StoreFullError,
    now,
  })
  orchestrator.onReachable(async () => {
    if (isLookedAt()) await reconcile({ store, model, observations, orchestrator })
  })
  return { orchestrator, restartHolds }
}
