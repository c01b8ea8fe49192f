import { setTimeout as pause } from 'node:timers/promises'
import type { NotificationDeliveryRow, Store } from '@stackquay/store'
import { createNotificationAttempt, type NotificationAttempt } from './attempt.ts'
import type { News } from './news.ts'
import { createNotificationQueue } from './queue.ts'

export interface NotifierDeps {
  readonly store: Store
  readonly now: () => Date
  readonly publicUrl: string
  onError(error: unknown, what: string): void
}

/**
 * Tells people what happened. What is to be told is stored before it is sent, so nothing is lost wherever the service is killed; a message
 * that was under way then is sent again with the same id: one in each channel at most.
 */
export interface Notifier {
  /** Begins with what was left; goes on with every commit. */
  start(): Promise<void>
  /** Something became due. */
  wake(): void
  /** Something that was seen by looking at it. */
  take(news: readonly News[]): Promise<void>
  readonly attempt: NotificationAttempt
  close(): Promise<void>
}

/** Channels at once; in each of them one message after the other. */
const atOnce = 8
/** The longest sleep: a clock that was set back must not hold a message for ever. */
const longestSleepMs = 60_000

export function createNotifier({ store, now, publicUrl, onError }: NotifierDeps): Notifier {
  const life = new AbortController()
  let stopListening = () => {}
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | null = null
  let again = false
  const queue = createNotificationQueue({ store, now })
  const attempt = createNotificationAttempt({ store, now, publicUrl, signal: life.signal })
  const sends = createSends({ store, now, attempt, onError, ended: () => wake(), signal: life.signal })

  const wake = () => {
    if (life.signal.aborted) return
    again = true
    working ??= work()
      .catch((error: unknown) => {
        onError(error, 'sending notifications')
        sleep(longestSleepMs / 6)
      })
      .finally(() => {
        working = null
      })
  }

  const work = async () => {
    while (again && !life.signal.aborted) {
      again = false
      await queue.work()
      const waits = [await sends.beginDue(), await queue.firstDue()].filter((time) => time !== null)
      if (waits.length > 0) sleep(Math.min(...waits.map((time) => time.getTime())) - now().getTime())
    }
  }

  const sleep = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(wake, Math.min(Math.max(milliseconds, 20), longestSleepMs)).unref()
  }

  return {
    wake,
    attempt,
    take: async (news) => {
      await queue.take(news)
      wake()
    },
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

interface SendsDeps extends Omit<NotifierDeps, 'publicUrl'> {
  readonly attempt: NotificationAttempt
  /** A message that was under way is not any more. */
  ended(): void
  readonly signal: AbortSignal
}

/** What is under way. A receiver that is slow holds up its own channel alone. */
function createSends({ store, now, attempt, onError, ended, signal }: SendsDeps) {
  const busy = new Map<string, Promise<void>>()
  const begin = (delivery: NotificationDeliveryRow) => {
    const done = attempt(delivery)
      .then(
        () => undefined,
        (error: unknown) => {
          onError(error, 'sending a notification')
          // What cannot be written is not tried again at once.
          return pause(longestSleepMs / 6, undefined, { signal }).catch(() => undefined)
        },
      )
      .finally(() => {
        busy.delete(delivery.channel)
        ended()
      })
    busy.set(delivery.channel, done)
  }
  return {
    /** Begins what is due, as far as there is room. Answers when more is due; null where an end is waited for. */
    beginDue: async (): Promise<Date | null> => {
      while (busy.size < atOnce && !signal.aborted) {
        const delivery = await store.notifications.nextPending([...busy.keys()])
        if (delivery === null) return null
        const due = new Date(delivery.nextAttemptAt ?? 0)
        if (due.getTime() > now().getTime()) return due
        begin(delivery)
      }
      return null
    },
    done: () => Promise.all(busy.values()),
  }
}
