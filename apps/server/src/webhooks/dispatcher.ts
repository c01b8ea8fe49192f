import { setTimeout as pause } from 'node:timers/promises'
import type { DeliveryRow, Store } from '@stackquay/store'
import { createAttempt } from './attempt.ts'
import { createQueue } from './queue.ts'

export interface DispatcherDeps {
  readonly store: Store
  readonly now: () => Date
  onError(error: unknown, what: string): void
}

/**
 * Turns events into deliveries and delivers them. How far events were turned into deliveries is stored together with them,
 * so no event is lost or told under two ids, wherever the service is killed; a delivery that was under way then is sent
 * again with the same id.
 */
export interface Dispatcher {
  /** Begins with what was left; goes on with every commit. */
  start(): Promise<void>
  /** Something became due. */
  wake(): void
  /** One attempt now, whatever is due. Answers the delivery as it is afterwards; null when it is gone. */
  attempt(delivery: DeliveryRow): Promise<DeliveryRow | null>
  close(): Promise<void>
}

const atOnce = 8
const atOnceOfOne = 2
/** The longest sleep: a clock that was set back must not hold a delivery for ever. */
const longestSleepMs = 60_000

export function createDispatcher({ store, now, onError }: DispatcherDeps): Dispatcher {
  const life = new AbortController()
  let stopListening = () => {}
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | null = null
  let again = false
  const queue = createQueue({ store, now })
  const attempt = createAttempt({ store, now, signal: life.signal })
  const sends = createSends({ store, now, attempt, onError, ended: () => wake(), signal: life.signal })

  const wake = () => {
    if (life.signal.aborted) return
    again = true
    working ??= work()
      .catch((error: unknown) => {
        onError(error, 'sending webhooks')
        sleep(longestSleepMs / 6)
      })
      .finally(() => {
        working = null
      })
  }

  const work = async () => {
    while (again && !life.signal.aborted) {
      again = false
      await queue.enqueue()
      const wait = await sends.beginDue()
      if (wait !== null) sleep(wait)
    }
  }

  const sleep = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(wake, Math.min(Math.max(milliseconds, 20), longestSleepMs)).unref()
  }

  return {
    wake,
    attempt,
    start: async () => {
      await queue.open()
      stopListening = store.onCommit((events) => {
        if (events.length > 0) wake()
      })
      wake()
    },
    close: async () => {
      stopListening()
      clearTimeout(timer)
      life.abort()
      await working
      await sends.done()
    },
  }
}

interface SendsDeps extends DispatcherDeps {
  readonly attempt: Dispatcher['attempt']
  /** A delivery that was under way is not any more. */
  ended(): void
  readonly signal: AbortSignal
}

/** What is under way. A receiver that is slow holds up its own deliveries, never those of others. */
function createSends({ store, now, attempt, onError, ended, signal }: SendsDeps) {
  const busy = new Map<string, { readonly webhook: string; readonly done: Promise<void> }>()
  const begin = (delivery: DeliveryRow) => {
    const done = attempt(delivery)
      .then(
        () => undefined,
        (error: unknown) => {
          onError(error, 'sending a webhook')
          // What cannot be written is not tried again at once.
          return pause(longestSleepMs / 6, undefined, { signal }).catch(() => undefined)
        },
      )
      .finally(() => {
        busy.delete(delivery.id)
        ended()
      })
    busy.set(delivery.id, { webhook: delivery.webhook, done })
  }
  return {
    /** Begins what is due, as far as there is room. Answers the milliseconds until more is due; null where an end is waited for. */
    beginDue: async (): Promise<number | null> => {
      while (busy.size < atOnce && !signal.aborted) {
        const hooks = [...busy.values()].map(({ webhook }) => webhook)
        const taken = hooks.filter((hook) => hooks.filter((other) => other === hook).length >= atOnceOfOne)
        const delivery = await store.webhooks.nextPending({ ids: [...busy.keys()], webhooks: [...new Set(taken)] })
        if (delivery === null) return null
        const wait = Date.parse(delivery.nextAttemptAt ?? '') - now().getTime()
        if (wait > 0) return wait
        begin(delivery)
      }
      return null
    },
    done: () => Promise.all([...busy.values()].map(({ done }) => done)),
  }
}
