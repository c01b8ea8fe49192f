import { setTimeout as sleep } from 'node:timers/promises'
import type { EventRecord, OperationRecord, Run } from '@stackquay/contract'
import { aborted } from '../aborted.ts'
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

/**
 * Looks again and again at what cron jobs ask for, by the clock on the wall: at the next time, when something happened that may matter,
 * and at least twice a minute, for clocks are set. Whatever is due is found by looking, so a kill or a month off loses nothing.
 */
export function openCronKeeper({ ready, ...deps }: CronKeeperOptions): CronKeeper {
  const life = new AbortController()
  let woken = new AbortController()
  let waits = false
  const stopHearing = deps.store.onCommit((events) => {
    for (const event of events) tell(event, deps.model)
    if (events.some((event) => mayMatter(event, waits))) woken.abort()
  })

  const look = async (): Promise<number> => {
    try {
      const looked = await carryOutCron(deps)
      waits = looked.waits
      return looked.restMs
    } catch (error) {
      deps.onError(error, 'looking at cron jobs')
      return mostRestMs
    }
  }
  const run = async (): Promise<void> => {
    await Promise.race([ready, aborted(life.signal)])
    while (!life.signal.aborted) {
      // Before the look: what happens during it is looked at after it.
      woken = new AbortController()
      const restMs = await look()
      await rest(leastRestMs, life.signal)
      await rest(Math.min(restMs, mostRestMs) - leastRestMs, AbortSignal.any([life.signal, woken.signal]))
    }
  }
  // Projects that cannot be found are told of elsewhere.
  const running = run().catch(() => undefined)
  return {
    close: async () => {
      stopHearing()
      life.abort()
      await running
    },
  }
}

const mostRestMs = 30_000
/** What is written together is often followed by more. */
const leastRestMs = 50

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

async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, milliseconds), undefined, { signal, ref: false }).catch(() => undefined)
}
