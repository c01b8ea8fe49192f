import type { EventRecord, OperationRecord, Run } from '@stackquay/contract'
import { lookAgain } from '../look-again.ts'
import type { Model } from '../projects/model.ts'
import { isEnded } from '../projects/view.ts'
import { isOver } from '../runs/run-view.ts'
import { type CarryOutCronDeps, carryOutCron } from './carry-out-cron.ts'

export interface CronKeeperOptions extends CarryOutCronDeps {
  readonly model: Pick<Model, 'all' | 'find' | 'touched'>
  /** Nothing is started before what the service of before had under way goes on. */
  readonly ready: Promise<void>
}

export interface CronKeeper {
  /** Ends with the look that is under way. Runs that were begun go on. */
  close(): Promise<void>
}

/** Starts what cron jobs ask for. */
export function openCronKeeper({ ready, ...deps }: CronKeeperOptions): CronKeeper {
  const stopTelling = deps.store.onCommit((events) => {
    for (const event of events) tell(event, deps.model)
  })
  const looking = lookAgain({
    store: deps.store,
    ready,
    look: () => carryOutCron(deps),
    mayMatter,
    leastRestMs: 50,
    mostRestMs: 30_000,
    at: 'cron jobs',
    onError: deps.onError,
  })
  return {
    close: async () => {
      stopTelling()
      await looking.close()
    },
  }
}

/** Settings, what ends, and what is told of projects that start or stop. */
function mayMatter({ type, data }: EventRecord, waits: boolean): boolean {
  if (type === 'operation.changed') return isEnded(data as Pick<OperationRecord, 'state'>)
  if (type === 'run.changed') return waits && isOver(data as Pick<Run, 'state'>)
  return type === 'project.changed' || type === 'project.created' || type === 'project.deleted'
}

/** Whether its last run failed is one of a project’s warnings. */
function tell({ type, project, data }: EventRecord, model: CronKeeperOptions['model']): void {
  if (type !== 'run.changed' || project === null) return
  const run = data as Pick<Run, 'kind' | 'state'>
  if (run.kind === 'cron' && isOver(run) && model.find(project) !== null) model.touched(project)
}
