import { type ArchiveKeeper, openArchiveKeeper } from '../point-in-time/keeper.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Operations } from './operations.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'

/** Who looks after the WAL archives of databases. */
export function openArchives(
  {
    instance: { store, engine, reveal },
    resolving: { resolver },
    projects: { model, late },
    operations: { orchestrator },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine' | 'reveal'>
    readonly resolving: Pick<Resolving, 'resolver'>
    readonly projects: Pick<KnownProjects, 'model' | 'late'>
    readonly operations: Pick<Operations, 'orchestrator'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { now, onError }: Pick<AppContext, 'now' | 'onError'>,
): ArchiveKeeper {
  return openArchiveKeeper({ store, engine, reveal, resolver, model, late, orchestrator, ready, now, onError })
}
