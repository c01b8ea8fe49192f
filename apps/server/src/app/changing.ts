import { purgeTime } from '@stackquay/domain'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'

/** What changes of projects are made with, but for who carries them out. */
export function changingOf(
  {
    instance: { store, engine, engines },
    resolving: { resolver, catalogue },
    projects: { model, observations },
    workers,
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine' | 'engines'>
    readonly resolving: Pick<Resolving, 'resolver' | 'catalogue'>
    readonly projects: Pick<KnownProjects, 'model' | 'observations'>
    readonly workers: ChangeDeps['workers']
  },
  { config, now }: Pick<AppContext, 'config' | 'now'>,
): Omit<ChangeDeps, 'orchestrator'> {
  const trashUntil = () => purgeTime(now(), config.trashDays)
  return { store, model, resolver, catalogue, engine, engines, workers, observations, trashUntil }
}
