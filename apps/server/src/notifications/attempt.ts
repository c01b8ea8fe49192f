import { isUrgent } from '@stackquay/domain'
import type { NotificationChannelRow, NotificationDeliveryRow, Store } from '@stackquay/store'
import type { OutgoingMessage, SendOutcome } from './channel-kind.ts'
import { kindOf } from './channels/index.ts'
import { outsideFor } from './outside.ts'
import { nextTry } from './retries.ts'
import { masked, sealedSettings } from './sealed-settings.ts'

/** One attempt now, whatever is due, written down. Answers the delivery as it is afterwards; null when it is gone. */
export type NotificationAttempt = (delivery: NotificationDeliveryRow) => Promise<NotificationDeliveryRow | null>

export interface AttemptDeps {
  readonly store: Store
  readonly now: () => Date
  /** Of the page. */
  readonly publicUrl: string
  /** Aborted when the service stops: what was under way stays due. */
  readonly signal: AbortSignal
}

/** More attempts than these are shown to nobody. */
const keptAttempts = 30
const mostError = 500

export function createNotificationAttempt(deps: AttemptDeps): NotificationAttempt {
  const { store, now, signal } = deps
  return async (delivery) => {
    const channel = await store.notifications.find(delivery.channel)
    if (channel === null) return null
    const startedAt = now()
    const outcome = await send(channel, delivery, deps)
    if (signal.aborted && outcome.error !== null) return delivery
    const endedAt = now()
    const { status, error } = outcome
    const durationSeconds = Math.max(0, (endedAt.getTime() - startedAt.getTime()) / 1000)
    const attempts = [...delivery.attempts, { at: startedAt.toISOString(), status, error, durationSeconds }]
    const next = error === null || isTest(delivery) ? null : nextOf(delivery, attempts.length, outcome, endedAt)
    return await store.transaction(async (tx) => {
      const state = error === null ? 'delivered' : next === null ? 'failed' : 'pending'
      const row = await tx.notifications.updateDelivery(delivery.id, {
        state,
        attempts: attempts.slice(-keptAttempts),
        nextAttemptAt: next?.toISOString() ?? null,
      })
      if (row !== null) {
        await tx.events.append({ type: 'notification.changed', project: null, data: { id: channel.id, state } })
      }
      return row
    })
  }
}

function isTest({ message }: NotificationDeliveryRow): boolean {
  return message.event === 'test'
}

/** The attempts that are kept may be fewer than there were: their first says no more how long it has been tried. */
function nextOf(delivery: NotificationDeliveryRow, attempts: number, outcome: SendOutcome, at: Date): Date | null {
  return nextTry({ attempts, createdAt: delivery.createdAt }, at, outcome.retryAfterSeconds, Math.random())
}

async function send(
  channel: NotificationChannelRow,
  delivery: NotificationDeliveryRow,
  { store, now, publicUrl, signal }: AttemptDeps,
): Promise<SendOutcome> {
  const failed = (error: string): SendOutcome => ({ status: null, error, retryAfterSeconds: null })
  if (!channel.enabled && !isTest(delivery)) return failed('The channel is switched off.')
  const kind = kindOf(channel.kind)
  const secrets = await sealedSettings(store, channel.id)
  if (kind === null || secrets === null) return failed('What is secret of the channel is gone. Set it again.')
  const settings = kind.settings.safeParse({ ...channel.settings, ...secrets })
  if (!settings.success) return failed('The settings of the channel are not those of this version. Set them again.')
  try {
    const outcome = await kind.send(outgoing(delivery, publicUrl), settings.data, outsideFor(signal, now))
    const { error } = outcome
    return error === null ? outcome : { ...outcome, error: masked(error, secrets).slice(0, mostError) }
  } catch (error) {
    const { message, responseCode } = error as Error & { readonly responseCode?: number }
    return { ...failed(masked(message, secrets).slice(0, mostError)), status: responseCode ?? null }
  }
}

function outgoing({ id, message, createdAt }: NotificationDeliveryRow, publicUrl: string): OutgoingMessage {
  const { event, project } = message
  const path = project === null ? '' : `projects/${encodeURIComponent(project)}`
  return {
    ...message,
    id,
    tone: event === 'recovered' ? 'good' : event === 'test' ? 'neutral' : 'bad',
    urgent: isUrgent(event),
    at: createdAt,
    link: `${publicUrl.replace(/\/+$/, '')}/${path}`,
  }
}
