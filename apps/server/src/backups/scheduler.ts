import { setTimeout as sleep } from 'node:timers/promises'
import type { EventRecord, OperationRecord } from '@stackquay/contract'
import { aborted } from '../aborted.ts'
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

/**
 * Looks again and again at what schedules of backups ask for, by the clock on the wall: at the next time, when something happened that
 * may matter, and at least every minute, for clocks are set. Whatever is due is found by looking, so a kill or a month off loses nothing.
 */
export function openScheduler({ ready, ...deps }: SchedulerOptions): Scheduler {
  const life = new AbortController()
  let woken = new AbortController()
  let waits = false
  const stopHearing = deps.store.onCommit((events) => {
    if (events.some((event) => mayMatter(event, waits))) woken.abort()
  })

  const look = async (): Promise<number> => {
    try {
      const looked = await carryOutSchedules(deps)
      waits = looked.waits
      return looked.restMs
    } catch (error) {
      deps.onError(error, 'looking at the schedules of backups')
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
  // Projects that cannot be found are told of elsewhere; without them nothing can be backed up.
  const running = run().catch(() => undefined)
  return {
    close: async () => {
      stopHearing()
      life.abort()
      await running
    },
  }
}

const mostRestMs = 60_000
/** What is written together is often followed by more. */
const leastRestMs = 100

/** Schedules and backups always; the end of an operation where one is waited for. */
function mayMatter({ type, data }: EventRecord, waits: boolean): boolean {
  if (type === 'operation.changed') return waits && isEnded(data as Pick<OperationRecord, 'state'>)
  return type.startsWith('backup.')
}

async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, milliseconds), undefined, { signal, ref: false }).catch(() => undefined)
}
