import { type EventRecord, ProblemError } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import type { EventFilter } from './event-filter.ts'

/**
 * The event stream for any number of followers. Each follower is only a position: recent events stand once in memory,
 * older ones are read from the store, so that a slow reader costs nothing but its own delay.
 */
export interface EventsHub {
  /** Where to begin: `after` when it is still kept, else throws `too_old`; without it, the present. */
  begin(after: number | undefined): Promise<number>
  /** Batches of the events that pass, oldest first, each at most 8 ms after its first event was committed. Ends with the signal. */
  follow(after: number, passes: EventFilter, signal: AbortSignal): AsyncGenerator<readonly EventRecord[]>
  close(): void
}

export function createEventsHub(store: Pick<Store, 'events' | 'onCommit'>): EventsHub {
  let recent: EventRecord[] = []
  /** Every event after this one is in `recent`; unknown until the first commit that this process sees. */
  let recentAfter = Number.POSITIVE_INFINITY
  let commits = 0
  let wake: (() => void) | undefined
  let nextCommit = new Promise<void>((resolve) => (wake = resolve))
  let batching: NodeJS.Timeout | undefined

  const stop = store.onCommit((events) => {
    if (events.length === 0) return
    recentAfter = Math.min(recentAfter, events[0]!.seq - 1)
    recent.push(...events)
    if (recent.length > 2 * keptRecent) forgetOldest()
    commits++
    batching ??= setTimeout(wakeFollowers, batchMilliseconds)
  })

  return {
    async begin(after) {
      const { first, last } = await store.events.range()
      if (after === undefined) return last
      if (after <= last && after >= first - 1) return after
      throw new ProblemError('too_old', `Events after ${after} are not kept; there are ${first} to ${last}.`, {
        extensions: { first, last },
      })
    },
    async *follow(after, passes, signal) {
      let position = after
      const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      while (!signal.aborted) {
        const seen = commits
        const next = nextCommit
        const batch = await read(position)
        if (batch.length === 0) {
          if (seen === commits) await Promise.race([next, ended])
          continue
        }
        position = batch.at(-1)!.seq
        const passing = batch.filter(passes)
        if (passing.length > 0) yield passing
      }
    },
    close() {
      stop()
      clearTimeout(batching)
    },
  }

  async function read(position: number): Promise<readonly EventRecord[]> {
    if (position < recentAfter) return store.events.after(position, batchSize)
    const from = recent.findIndex(({ seq }) => seq > position)
    return from === -1 ? [] : recent.slice(from, from + batchSize)
  }

  function forgetOldest(): void {
    recent = recent.slice(-keptRecent)
    recentAfter = recent[0]!.seq - 1
  }

  function wakeFollowers(): void {
    batching = undefined
    const awaken = wake
    nextCommit = new Promise<void>((resolve) => (wake = resolve))
    awaken?.()
  }
}

const keptRecent = 1000
const batchSize = 200
const batchMilliseconds = 8
