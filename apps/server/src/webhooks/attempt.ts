import { byTheService, type DeliveryRow, type Store, type WebhookRow } from '@stackquay/store'
import { post } from './post.ts'
import { givesUpAfterMs, nextAttempt, retryAfter } from './retries.ts'
import { sealedKeys } from './sealed-keys.ts'
import { signedHeaders } from './signature.ts'

/** One attempt now, whatever is due, written down. Answers the delivery as it is afterwards; null when it is gone. */
export type Attempt = (delivery: DeliveryRow) => Promise<DeliveryRow | null>

export function createAttempt({
  store,
  now,
  signal,
}: {
  readonly store: Store
  readonly now: () => Date
  /** Aborted when the service stops: what was under way stays due. */
  readonly signal: AbortSignal
}): Attempt {
  const send = async (hook: WebhookRow, delivery: DeliveryRow, at: Date) => {
    const refused = (error: string) => ({ status: null, error, retryAfter: undefined, final: true })
    if (!hook.enabled && delivery.eventSeq !== null) return refused('The webhook is switched off.')
    const keys = await sealedKeys(store, hook.id)
    if (keys === null) return refused('The signing secret is gone. Rotate it, then send this again.')
    const body = JSON.stringify(delivery.payload)
    const result = await post(hook.url, signedHeaders(keys, delivery.id, body, at), body, signal)
    return { ...result, final: result.status === 410 }
  }

  return async (delivery) => {
    const hook = await store.webhooks.find(delivery.webhook)
    if (hook === null) return null
    const startedAt = now()
    const outcome = await send(hook, delivery, startedAt)
    // The service stops: the delivery stays due.
    if (signal.aborted && outcome.error !== null) return delivery
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
}

/** More attempts than the plan has only come from sending again by hand. */
const keptAttempts = 30

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
