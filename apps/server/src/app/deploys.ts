import { type DeployKeeper, openDeployKeeper } from '../deploys/keeper.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Operations } from './operations.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'

/** Who begins what is pushed, and asks the remotes that are watched. */
export function openDeploys(
  {
    instance: { store },
    resolving: { repositories, gitHalf, resolver },
    projects: { model },
    operations: { orchestrator },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store'>
    readonly resolving: Pick<Resolving, 'repositories' | 'gitHalf' | 'resolver'>
    readonly projects: Pick<KnownProjects, 'model'>
    readonly operations: Pick<Operations, 'orchestrator'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { config: { publicUrl }, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): DeployKeeper {
  const addressOf = ({ slug }: { readonly slug: string }) => resolver.urlOf(resolver.host(slug))
  return openDeployKeeper({
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
