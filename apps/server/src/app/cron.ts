import { type CronKeeper, openCronKeeper } from '../cron/cron-keeper.ts'
import type { Commands } from './commands.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resumption } from './resumption.ts'

/** Who starts cron jobs at their times. */
export function openCron(
  {
    instance: { store },
    projects: { model, cron },
    commands: { runs },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store'>
    readonly projects: Pick<KnownProjects, 'model' | 'cron'>
    readonly commands: Pick<Commands, 'runs'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { now, onError }: Pick<AppContext, 'now' | 'onError'>,
): CronKeeper {
  return openCronKeeper({ store, model, memory: cron, runs, now, onError, ready })
}
