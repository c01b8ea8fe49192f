import { purgeTime } from '@stackquay/domain'
import type { Backups } from '../backups/open-backups.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { createVersionChanges } from '../upgrades/upgrade-plan.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'

/** What changes of projects are made with, but for who carries them out. */
export function changingOf(
  {
    instance,
    resolving: { resolver, catalogue },
    projects: { model, observations },
    workers,
    backups,
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine' | 'engines' | 'reveal'>
    readonly resolving: Pick<Resolving, 'resolver' | 'catalogue'>
    readonly projects: Pick<KnownProjects, 'model' | 'observations'>
    readonly workers: ChangeDeps['workers']
    readonly backups: Pick<Backups, 'known'>
  },
  { config, now }: Pick<AppContext, 'config' | 'now'>,
): Omit<ChangeDeps, 'orchestrator'> {
  const { store, engine, engines } = instance
  const versions = createVersionChanges({ ...instance, resolver, backups, home: config.home })
  const trashUntil = () => purgeTime(now(), config.trashDays)
  return { store, model, resolver, catalogue, engine, engines, workers, observations, versions, trashUntil }
}
