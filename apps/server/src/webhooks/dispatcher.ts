import { setTimeout as pause } from 'node:timers/promises'
import type { EventRecord } from '@stackquay/contract'
import { byTheService, type DeliveryRow, newId, type Store, type WebhookRow } from '@stackquay/store'
import { post } from './post.ts'
import { givesUpAfterMs, nextAttempt, retryAfter } from './retries.ts'
import { sealedKeys } from './sealed-keys.ts'
import { signedHeaders } from './signature.ts'

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

/** Name of the setting that holds the sequence number up to which events became deliveries. */
const positionSetting = 'webhooks.position'
/** Events of one transaction. */
const batch = 500
const atOnce = 8
const atOnceOfOne = 2
/** The longest sleep: a clock that was set back must not hold a delivery for ever. */
const longestSleepMs = 60_000

export function createDispatcher({ store, now, onError }: DispatcherDeps): Dispatcher {
  const life = new AbortController()
  const busy = new Map<string, { readonly webhook: string; readonly done: Promise<void> }>()
  let stopListening = () => {}
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | null = null
  let again = false
  let position: number | null = null

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
      await enqueue()
      await sendDue()
    }
  }

  const sleep = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(wake, Math.min(Math.max(milliseconds, 20), longestSleepMs)).unref()
  }

  /** Events since the last time become deliveries, together with the note of how far that went. */
  const enqueue = async () => {
    if (position === null) return
    for (;;) {
      const events = await store.events.after(position, batch)
      const last = events.at(-1)?.seq
      if (last === undefined) return
      const hooks = (await store.webhooks.all()).filter((hook) => hook.enabled)
      const told = events.flatMap((event) =>
        hooks.filter((hook) => wants(hook, event)).map((hook) => ({ hook, event })),
      )
      // Most events are nobody's: the note is written when there is something to write with it, or much was passed over, or
      // somebody else may want from now on what was passed over.
      const isOther = events.some(({ type }) => type === 'webhook.changed')
      if (told.length > 0 || isOther || last - noted >= batch) {
        await store.transaction(async (tx) => {
          for (const { hook, event } of told) {
            await tx.webhooks.insertDelivery({
              id: newId('msg'),
              webhook: hook.id,
              eventSeq: event.seq,
              type: event.type,
              project: event.project,
              nextAttemptAt: now().toISOString(),
              payload: payloadOf(event),
            })
          }
          await tx.settings.set(positionSetting, last)
        })
        noted = last
      }
      position = last
    }
  }
  let noted = 0

  /** A receiver that is slow holds up its own deliveries, never those of others. */
  const sendDue = async () => {
    while (busy.size < atOnce && !life.signal.aborted) {
      const hooks = [...busy.values()].map(({ webhook }) => webhook)
      const taken = hooks.filter((hook) => hooks.filter((other) => other === hook).length >= atOnceOfOne)
      const delivery = await store.webhooks.nextPending({ ids: [...busy.keys()], webhooks: [...new Set(taken)] })
      // What is under way wakes this when it ends.
      if (delivery === null) return
      const wait = Date.parse(delivery.nextAttemptAt ?? '') - now().getTime()
      if (wait > 0) return sleep(wait)
      begin(delivery)
    }
  }

  const begin = (delivery: DeliveryRow) => {
    const done = attempt(delivery)
      .then(
        () => undefined,
        (error: unknown) => {
          onError(error, 'sending a webhook')
          // What cannot be written is not tried again at once.
          return pause(longestSleepMs / 6, undefined, { signal: life.signal }).catch(() => undefined)
        },
      )
      .finally(() => {
        busy.delete(delivery.id)
        wake()
      })
    busy.set(delivery.id, { webhook: delivery.webhook, done })
  }

  const attempt = async (delivery: DeliveryRow): Promise<DeliveryRow | null> => {
    const hook = await store.webhooks.find(delivery.webhook)
    if (hook === null) return null
    const startedAt = now()
    const outcome = await send(hook, delivery, startedAt)
    // The service stops: the delivery stays due.
    if (life.signal.aborted && outcome.error !== null) return delivery
    const endedAt = now()
    const attempts = [
      ...delivery.attempts,
      {
        at: startedAt.toISOString(),
        status: outcome.status,
        error: outcome.error,
        durationSeconds: Math.max(0, (endedAt.getTime() - startedAt.getTime()) / 1000),
      },
    ]
    const isTest = delivery.eventSeq === null
    const next =
      outcome.error === null || isTest || outcome.final
        ? null
        : nextAttempt(attempts.length, endedAt, retryAfter(outcome.retryAfter, endedAt), Math.random())
    const state = outcome.error === null ? 'delivered' : next === null ? 'failed' : 'pending'
    return await store.transaction(async (tx) => {
      const row = await tx.webhooks.updateDelivery(delivery.id, {
        state,
        attempts: attempts.slice(-keptAttempts),
        nextAttemptAt: next?.toISOString() ?? null,
      })
      if (row === null || isTest) return row
      const since = outcome.error === null ? null : (hook.failingSince ?? startedAt.toISOString())
      const reason = outcome.error === null ? null : giveUpReason(outcome.status, since, endedAt)
      if (since !== hook.failingSince) await tx.webhooks.update(hook.id, { failingSince: since })
      if (reason !== null && hook.enabled) {
        await tx.webhooks.update(hook.id, { enabled: false, disabledReason: reason })
        await tx.audit.append(systemEntry(hook, reason))
        await tx.events.append({ type: 'webhook.changed', project: null, data: { id: hook.id, enabled: false } })
      }
      return row
    })
  }

  const send = async (hook: WebhookRow, delivery: DeliveryRow, at: Date) => {
    const refused = (error: string) => ({ status: null, error, retryAfter: undefined, final: true })
    if (!hook.enabled && delivery.eventSeq !== null) return refused('The webhook is switched off.')
    const keys = await sealedKeys(store, hook.id)
    if (keys === null) return refused('The signing secret is gone. Rotate it, then send this again.')
    const body = JSON.stringify(delivery.payload)
    const result = await post(hook.url, signedHeaders(keys, delivery.id, body, at), body, life.signal)
    return { ...result, final: result.status === 410 }
  }

  return {
    wake,
    attempt,
    start: async () => {
      const { last } = await store.events.range()
      const stored = await store.settings.get<number>(positionSetting)
      // The first start of all: what happened before is nobody's.
      if (stored === null) await store.transaction((tx) => tx.settings.set(positionSetting, last))
      position = stored ?? last
      noted = position
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
      await Promise.all([...busy.values()].map(({ done }) => done))
    },
  }
}

/** More attempts than the plan has only come from sending again by hand. */
const keptAttempts = 30

function wants(hook: WebhookRow, { type, project }: EventRecord): boolean {
  return (
    hook.events.includes(type) && (hook.projects.length === 0 || (project !== null && hook.projects.includes(project)))
  )
}

function payloadOf({ seq, type, time, project, data }: EventRecord): DeliveryRow['payload'] {
  return { type, timestamp: time, seq, project, data }
}

function giveUpReason(status: number | null, since: string | null, now: Date): string | null {
  if (status === 410) return 'The receiver answered 410: it wants no more events.'
  if (since === null || now.getTime() - Date.parse(since) < givesUpAfterMs) return null
  return `No delivery has arrived since ${since}.`
}

function systemEntry(hook: WebhookRow, reason: string) {
  return byTheService({
    action: 'webhook.update',
    target: hook.name,
    changes: { before: { enabled: true }, after: { enabled: false, disabledReason: reason } },
  })
}
