import type { WebhookDelivery } from '@stackquay/contract'

export interface WebhookRow {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  /** Ids; empty for all. */
  readonly projects: readonly string[]
  readonly enabled: boolean
  readonly disabledReason: string | null
  readonly createdAt: string
  /** Since when every delivery has failed; null while they arrive. */
  readonly failingSince: string | null
}

export interface DeliveryRow extends Omit<WebhookDelivery, 'attempts'> {
  readonly attempts: readonly WebhookDelivery['attempts'][number][]
  /** Of the event that it delivers; null for a test. */
  readonly eventSeq: number | null
}

export interface WebhookReader {
  find(id: string): Promise<WebhookRow | null>
  all(): Promise<readonly WebhookRow[]>
  delivery(id: string): Promise<DeliveryRow | null>
  /** Newest first. */
  deliveries(options: {
    webhook: string
    limit: number
    cursor?: string
    state?: WebhookDelivery['state']
  }): Promise<readonly DeliveryRow[]>
  /** The pending delivery that is due first, at any time, without those under way and those of some webhooks. */
  nextPending(but: { ids: readonly string[]; webhooks: readonly string[] }): Promise<DeliveryRow | null>
}

export interface WebhookWriter {
  /** Throws `TakenError` when the name is held. Its secret is sealed apart, as `webhook/<id>`. */
  insert(webhook: Pick<WebhookRow, 'id' | 'name' | 'url' | 'events' | 'projects' | 'enabled'>): Promise<WebhookRow>
  update(id: string, change: Partial<Omit<WebhookRow, 'id' | 'createdAt'>>): Promise<WebhookRow>
  delete(id: string): Promise<void>
  insertDelivery(
    delivery: Pick<DeliveryRow, 'id' | 'webhook' | 'eventSeq' | 'type' | 'project' | 'nextAttemptAt' | 'payload'>,
  ): Promise<DeliveryRow>
  /** Null when it was forgotten meanwhile. */
  updateDelivery(
    id: string,
    change: Pick<DeliveryRow, 'state' | 'attempts' | 'nextAttemptAt'>,
  ): Promise<DeliveryRow | null>
  /** Forgets ended deliveries that are older. */
  forgetDeliveries(before: string): Promise<void>
}
