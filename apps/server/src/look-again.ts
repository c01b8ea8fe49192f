import { setTimeout as sleep } from 'node:timers/promises'
import type { EventRecord } from '@stackquay/contract'
import type { Store } from '@stackquay/store'
import { aborted } from './aborted.ts'

/** What was seen by a look. */
export interface Looked {
  /** Until there is something to do by the clock. */
  readonly restMs: number
  /** Whether something is due that has to wait for something else. */
  readonly waits: boolean
}

export interface LookAgainOptions {
  readonly store: Pick<Store, 'onCommit'>
  /** Nothing is looked at before. */
  readonly ready: Promise<void>
  look(): Promise<Looked>
  /** Whether it is looked at anew because of this; `waits` is of the last look. */
  mayMatter(event: EventRecord, waits: boolean): boolean
  /** What is written together is often followed by more. */
  readonly leastRestMs: number
  /** Clocks are set. */
  readonly mostRestMs: number
  /** As in "looking at …". */
  readonly at: string
  onError(error: unknown, what: string): void
}

/**
 * Looks again and again, by the clock on the wall: at the next time, when something happened that may matter, and at least so often.
 * Whatever is due is found by looking, so a kill or a month off loses nothing.
 */
export function lookAgain(options: LookAgainOptions): {
  /** Ends with the look that is under way. */
  close(): Promise<void>
} {
  const { store, ready, mayMatter, leastRestMs, mostRestMs, at, onError } = options
  const life = new AbortController()
  let woken = new AbortController()
  let waits = false
  const stopHearing = store.onCommit((events) => {
    if (events.some((event) => mayMatter(event, waits))) woken.abort()
  })

  const look = async (): Promise<number> => {
    try {
      const looked = await options.look()
      waits = looked.waits
      return looked.restMs
    } catch (error) {
      onError(error, `looking at ${at}`)
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

async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, milliseconds), undefined, { signal, ref: false }).catch(() => undefined)
}
