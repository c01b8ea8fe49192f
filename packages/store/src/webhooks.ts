import type { WebhookDelivery } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import { ChangedError, TakenError } from './errors.ts'
import type { DeliveryRow, WebhookReader, WebhookRow, WebhookWriter } from './model/webhooks.ts'
import type { WebhookDeliveriesTable, WebhooksTable } from './schema.ts'

export function webhookReader({ db }: Reading): WebhookReader {
  const hooks = db.selectFrom('webhooks').selectAll()
  const deliveries = db.selectFrom('webhook_deliveries').selectAll()
  return {
    find: async (id) => (await hooks.where('id', '=', id).execute()).map(webhookOf)[0] ?? null,
    all: async () => (await hooks.orderBy('id').execute()).map(webhookOf),
    delivery: async (id) => (await deliveries.where('id', '=', id).execute()).map(deliveryOf)[0] ?? null,
    deliveries: async ({ webhook, limit, cursor, state }) => {
      let query = deliveries.where('webhook', '=', webhook).orderBy('id', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('id', '<', cursor)
      if (state !== undefined) query = query.where('state', '=', state)
      return (await query.execute()).map(deliveryOf)
    },
    nextPending: async ({ ids, webhooks }) => {
      let query = deliveries.where('state', '=', 'pending').where('next_attempt_at', 'is not', null)
      if (ids.length > 0) query = query.where('id', 'not in', [...ids])
      if (webhooks.length > 0) query = query.where('webhook', 'not in', [...webhooks])
      const row = await query.orderBy('next_attempt_at').orderBy('id').limit(1).executeTakeFirst()
      return row === undefined ? null : deliveryOf(row)
    },
  }
}

export function webhookWriter({ db, now }: Writing): WebhookWriter {
  const refuseTaken = async (name: string, id: string) => {
    const holder = await db.selectFrom('webhooks').select('id').where('name', '=', name).executeTakeFirst()
    if (holder !== undefined && holder.id !== id) throw new TakenError('webhook name', holder.id)
  }
  return {
    insert: async (webhook) => {
      const row: WebhooksTable = {
        id: webhook.id,
        name: webhook.name,
        url: webhook.url,
        events: JSON.stringify(webhook.events),
        projects: JSON.stringify(webhook.projects),
        enabled: webhook.enabled ? 1 : 0,
        disabled_reason: null,
        created_at: now,
        failing_since: null,
      }
      await refuseTaken(webhook.name, webhook.id)
      await db.insertInto('webhooks').values(row).execute()
      return webhookOf(row)
    },
    update: async (id, change) => {
      if (change.name !== undefined) await refuseTaken(change.name, id)
      const row = await db
        .updateTable('webhooks')
        .set({
          id,
          name: change.name,
          url: change.url,
          events: change.events === undefined ? undefined : JSON.stringify(change.events),
          projects: change.projects === undefined ? undefined : JSON.stringify(change.projects),
          enabled: change.enabled === undefined ? undefined : change.enabled ? 1 : 0,
          disabled_reason: change.disabledReason,
          failing_since: change.failingSince,
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw new ChangedError(`Webhook ${id} is not there any more.`)
      return webhookOf(row)
    },
    delete: async (id) => {
      await db.deleteFrom('webhooks').where('id', '=', id).execute()
    },
    insertDelivery: async (delivery) => {
      const row: WebhookDeliveriesTable = {
        id: delivery.id,
        webhook: delivery.webhook,
        event_seq: delivery.eventSeq,
        type: delivery.type,
        project: delivery.project,
        state: 'pending',
        attempts: '[]',
        next_attempt_at: delivery.nextAttemptAt,
        payload: JSON.stringify(delivery.payload),
        created_at: now,
      }
      await db.insertInto('webhook_deliveries').values(row).execute()
      return deliveryOf(row)
    },
    updateDelivery: async (id, { state, attempts, nextAttemptAt }) => {
      const row = await db
        .updateTable('webhook_deliveries')
        .set({ id, state, attempts: JSON.stringify(attempts), next_attempt_at: nextAttemptAt })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      return row === undefined ? null : deliveryOf(row)
    },
    forgetDeliveries: async (before) => {
      await db
        .deleteFrom('webhook_deliveries')
        // What is due no more: also a test that was cut off and never ended.
        .where('next_attempt_at', 'is', null)
        .where('created_at', '<', before)
        .execute()
    },
  }
}

function webhookOf(row: WebhooksTable): WebhookRow {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    projects: JSON.parse(row.projects) as string[],
    enabled: row.enabled === 1,
    disabledReason: row.disabled_reason,
    createdAt: row.created_at,
    failingSince: row.failing_since,
  }
}

function deliveryOf(row: WebhookDeliveriesTable): DeliveryRow {
  return {
    id: row.id,
    webhook: row.webhook,
    eventSeq: row.event_seq,
    type: row.type,
    project: row.project,
    state: row.state as WebhookDelivery['state'],
    attempts: JSON.parse(row.attempts) as WebhookDelivery['attempts'],
    nextAttemptAt: row.next_attempt_at,
    payload: JSON.parse(row.payload) as WebhookDelivery['payload'],
    createdAt: row.created_at,
  }
}
