import type { NotificationDelivery } from '@stackquay/contract'
import type { ChannelRules, NotificationGroup, NotificationText } from '@stackquay/domain'

export interface NotificationChannelRow extends ChannelRules {
  readonly id: string
  readonly name: string
  readonly kind: string
  /** Without what is secret of them: that is sealed apart, as `notification/<id>`. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly enabled: boolean
  readonly createdAt: string
}

export interface NotificationDeliveryRow {
  readonly id: string
  readonly channel: string
  readonly message: NotificationText
  readonly state: NotificationDelivery['state']
  readonly attempts: readonly NotificationDelivery['attempts'][number][]
  readonly nextAttemptAt: string | null
  readonly createdAt: string
}

export interface NotificationReader {
  find(id: string): Promise<NotificationChannelRow | null>
  all(): Promise<readonly NotificationChannelRow[]>
  group(channel: string, key: string): Promise<NotificationGroup | null>
  /** Groups of all channels whose keys begin so. */
  groupsFrom(prefix: string): Promise<readonly { readonly channel: string; readonly group: NotificationGroup }[]>
  /** The groups of a channel that are due at `now`, what happened first first. */
  due(channel: string, now: string): Promise<readonly NotificationGroup[]>
  /** When the first group of all is due; null when none is. */
  firstDue(): Promise<string | null>
  delivery(id: string): Promise<NotificationDeliveryRow | null>
  /** Newest first. */
  deliveries(options: { channel: string; limit: number; cursor?: string }): Promise<readonly NotificationDeliveryRow[]>
  /** The pending delivery that is due first, at any time, of other channels than these. */
  nextPending(but: readonly string[]): Promise<NotificationDeliveryRow | null>
}

export interface NotificationWriter {
  /** Throws `TakenError` when the name is held. */
  insert(channel: Omit<NotificationChannelRow, 'createdAt'>): Promise<NotificationChannelRow>
  /** Throws `TakenError` when the name is held, and `ChangedError` when it is gone. */
  update(
    id: string,
    change: Partial<Omit<NotificationChannelRow, 'id' | 'kind' | 'createdAt'>>,
  ): Promise<NotificationChannelRow>
  delete(id: string): Promise<void>
  /** Null forgets the group. */
  putGroup(channel: string, key: string, group: NotificationGroup | null, dueAt: string | null): Promise<void>
  insertDelivery(
    delivery: Pick<NotificationDeliveryRow, 'id' | 'channel' | 'message' | 'nextAttemptAt'>,
  ): Promise<NotificationDeliveryRow>
  /** Null when it was forgotten meanwhile. */
  updateDelivery(
    id: string,
    change: Pick<NotificationDeliveryRow, 'state' | 'attempts' | 'nextAttemptAt'>,
  ): Promise<NotificationDeliveryRow | null>
  /** Forgets ended deliveries that are older, and of each channel all but its newest `most`. */
  forgetDeliveries(before: string, most: number): Promise<void>
}
