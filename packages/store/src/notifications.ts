import type { NotificationDelivery, QuietHours } from '@stackquay/contract'
import type { NotificationGroup, NotificationText } from '@stackquay/domain'
import type { Reading, Writing } from './context.ts'
import { ChangedError, TakenError } from './errors.ts'
import type {
  NotificationChannelRow,
  NotificationDeliveryRow,
  NotificationReader,
  NotificationWriter,
} from './model/notifications.ts'
import type { NotificationChannelsTable, NotificationDeliveriesTable } from './schema-notifications.ts'

export function notificationReader({ db }: Reading): NotificationReader {
  const channels = db.selectFrom('notification_channels').selectAll()
  const groups = db.selectFrom('notification_groups').selectAll()
  const deliveries = db.selectFrom('notification_deliveries').selectAll()
  return {
    find: async (id) => (await channels.where('id', '=', id).execute()).map(channelOf)[0] ?? null,
    all: async () => (await channels.orderBy('id').execute()).map(channelOf),
    group: async (channel, key) =>
      (await groups.where('channel', '=', channel).where('key', '=', key).execute()).map(groupOf)[0] ?? null,
    groupsFrom: async (prefix) =>
      (await groups.where('key', '>=', prefix).where('key', '<', `${prefix}\u{10FFFF}`).execute()).map((row) => ({
        channel: row.channel,
        group: groupOf(row),
      })),
    due: async (channel, now) =>
      (
        await groups
          .where('channel', '=', channel)
          .where('due_at', '<=', now)
          .orderBy('due_at')
          .orderBy('key')
          .execute()
      ).map(groupOf),
    firstDue: async () => {
      const [first] = await groups.where('due_at', 'is not', null).orderBy('due_at').limit(1).execute()
      return first?.due_at ?? null
    },
    delivery: async (id) => (await deliveries.where('id', '=', id).execute()).map(deliveryOf)[0] ?? null,
    deliveries: async ({ channel, limit, cursor }) => {
      let query = deliveries.where('channel', '=', channel).orderBy('id', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('id', '<', cursor)
      return (await query.execute()).map(deliveryOf)
    },
    nextPending: async (but) => {
      let query = deliveries.where('state', '=', 'pending').where('next_attempt_at', 'is not', null)
      if (but.length > 0) query = query.where('channel', 'not in', [...but])
      const [row] = await query.orderBy('next_attempt_at').orderBy('id').limit(1).execute()
      return row === undefined ? null : deliveryOf(row)
    },
  }
}

export function notificationWriter({ db, now }: Writing): NotificationWriter {
  const refuseTaken = async (name: string, id: string) => {
    const [holder] = await db.selectFrom('notification_channels').select('id').where('name', '=', name).execute()
    if (holder !== undefined && holder.id !== id) throw new TakenError('notification channel name', holder.id)
  }
  return {
    insert: async (channel) => {
      await refuseTaken(channel.name, channel.id)
      const row = { ...columnsOf(channel), id: channel.id, kind: channel.kind, created_at: now }
      return channelOf(
        await db
          .insertInto('notification_channels')
          .values(row as NotificationChannelsTable)
          .returningAll()
          .executeTakeFirstOrThrow(),
      )
    },
    update: async (id, change) => {
      if (change.name !== undefined) await refuseTaken(change.name, id)
      const row = await db
        .updateTable('notification_channels')
        .set({ id, ...columnsOf(change) })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw new ChangedError(`Notification channel ${id} is not there any more.`)
      return channelOf(row)
    },
    delete: async (id) => {
      await db.deleteFrom('notification_channels').where('id', '=', id).execute()
    },
    putGroup: async (channel, key, group, dueAt) => {
      if (group === null) {
        await db.deleteFrom('notification_groups').where('channel', '=', channel).where('key', '=', key).execute()
        return
      }
      const row = { state: JSON.stringify(group), due_at: dueAt }
      await db
        .insertInto('notification_groups')
        .values({ channel, key, ...row })
        .onConflict((conflict) => conflict.columns(['channel', 'key']).doUpdateSet(row))
        .execute()
    },
    ...deliveryWriter(db, now),
  }
}

function deliveryWriter(
  db: Writing['db'],
  now: string,
): Pick<NotificationWriter, 'insertDelivery' | 'updateDelivery' | 'forgetDeliveries'> {
  return {
    insertDelivery: async ({ id, channel, message, nextAttemptAt }) => {
      const row: NotificationDeliveriesTable = {
        id,
        channel,
        message: JSON.stringify(message),
        state: 'pending',
        attempts: '[]',
        next_attempt_at: nextAttemptAt,
        created_at: now,
      }
      await db.insertInto('notification_deliveries').values(row).execute()
      return deliveryOf(row)
    },
    updateDelivery: async (id, { state, attempts, nextAttemptAt }) => {
      const row = await db
        .updateTable('notification_deliveries')
        .set({ state, attempts: JSON.stringify(attempts), next_attempt_at: nextAttemptAt })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      return row === undefined ? null : deliveryOf(row)
    },
    forgetDeliveries: async (before, most) => {
      // What is due no more: also a test that was cut off and never ended.
      const ended = () => db.deleteFrom('notification_deliveries').where('next_attempt_at', 'is', null)
      await ended().where('created_at', '<', before).execute()
      for (const { id } of await db.selectFrom('notification_channels').select('id').execute()) {
        const kept = db
          .selectFrom('notification_deliveries')
          .select('id')
          .where('channel', '=', id)
          .orderBy('id', 'desc')
          .limit(most)
        await ended().where('channel', '=', id).where('id', 'not in', kept).execute()
      }
    },
  }
}

function columnsOf(change: Partial<Omit<NotificationChannelRow, 'id' | 'kind' | 'createdAt'>>) {
  const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value))
  return {
    name: change.name,
    settings: json(change.settings),
    events: json(change.events),
    projects: json(change.projects),
    quiet_hours: change.quietHours === null ? null : json(change.quietHours),
    cooldown_minutes: change.cooldownMinutes,
    enabled: change.enabled === undefined ? undefined : change.enabled ? 1 : 0,
  }
}

function channelOf(row: NotificationChannelsTable): NotificationChannelRow {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    settings: JSON.parse(row.settings) as Record<string, unknown>,
    events: JSON.parse(row.events) as string[],
    projects: JSON.parse(row.projects) as string[],
    quietHours: row.quiet_hours === null ? null : (JSON.parse(row.quiet_hours) as QuietHours),
    cooldownMinutes: row.cooldown_minutes,
    enabled: row.enabled === 1,
    createdAt: row.created_at,
  }
}

function groupOf({ state }: { readonly state: string }): NotificationGroup {
  return JSON.parse(state) as NotificationGroup
}

function deliveryOf(row: NotificationDeliveriesTable): NotificationDeliveryRow {
  return {
    id: row.id,
    channel: row.channel,
    message: JSON.parse(row.message) as NotificationText,
    state: row.state as NotificationDelivery['state'],
    attempts: JSON.parse(row.attempts) as NotificationDelivery['attempts'],
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
  }
}
