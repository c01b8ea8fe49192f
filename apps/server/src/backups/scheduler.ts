import type { EventRecord, OperationRecord } from '@stackquay/contract'
import { lookAgain } from '../look-again.ts'
import { isEnded } from '../projects/view.ts'
import { type CarryOutDeps, carryOutSchedules } from './carry-out-schedules.ts'

export interface SchedulerOptions extends CarryOutDeps {
  /** Nothing is made before what the service of before had under way goes on. */
  readonly ready: Promise<void>
}

export interface Scheduler {
  /** Ends with the look that is under way. Backups that were begun are the orchestrator's. */
  close(): Promise<void>
}

/** Carries out what schedules of backups ask for. */
export function openScheduler({ ready, ...deps }: SchedulerOptions): Scheduler {
  return lookAgain({
    store: deps.store,
    ready,
    look: () => carryOutSchedules(deps),
    mayMatter,
    leastRestMs: 100,
    mostRestMs: 60_000,
    at: 'the schedules of backups',
    onError: deps.onError,
  })
}

/** Schedules and backups always; the end of an operation where one is waited for. */
function mayMatter({ type, data }: EventRecord, waits: boolean): boolean {
  if (type === 'operation.changed') return waits && isEnded(data as Pick<OperationRecord, 'state'>)
  return type.startsWith('backup.')
}
