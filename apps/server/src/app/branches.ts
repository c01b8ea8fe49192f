import { openBranchKeeper } from '../branches/keeper.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Operations } from './operations.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'

/** Who looks whether the branches of environments are still there. */
export function openBranches(
  {
    instance: { store },
    resolving: { repositories, gitHalf },
    projects: { model },
    operations: { orchestrator },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store'>
    readonly resolving: Pick<Resolving, 'repositories' | 'gitHalf'>
    readonly projects: Pick<KnownProjects, 'model'>
    readonly operations: Pick<Operations, 'orchestrator'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { now, onError }: Pick<AppContext, 'now' | 'onError'>,
) {
  return openBranchKeeper({ store, model, orchestrator, repositories, gitHalf, ready, now, onError })
}
