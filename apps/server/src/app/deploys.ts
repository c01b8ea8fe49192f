import { createPullRequestDeliveries } from '../branches/pull-request-deliveries.ts'
import { type DeployKeeper, openDeployKeeper } from '../deploys/keeper.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Operations } from './operations.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'

/** Who begins what is pushed, and asks the remotes that are watched. */
export function openDeploys(
  {
    instance: { store, isolation },
    resolving: { repositories, gitHalf, resolver, sources },
    projects: { model, network },
    changing,
    operations: { orchestrator },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store' | 'isolation'>
    readonly resolving: Pick<Resolving, 'repositories' | 'gitHalf' | 'resolver' | 'sources'>
    readonly projects: Pick<KnownProjects, 'model' | 'network'>
    readonly changing: Omit<ChangeDeps, 'orchestrator'>
    readonly operations: Pick<Operations, 'orchestrator'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { config: { publicUrl }, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): DeployKeeper {
  const addressOf = ({ slug }: { readonly slug: string }) => resolver.urlOf(resolver.host(slug))
  const forEnvironments = { ...changing, orchestrator, repositories, sources, isolation, network }
  return openDeployKeeper({
    pullRequests: createPullRequestDeliveries({ ...forEnvironments, onError }),
    addressOf,
    store,
    model,
    orchestrator,
    repositories,
    gitHalf,
    publicUrl,
    ready,
    now,
    onError,
  })
}
