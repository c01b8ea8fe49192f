import { ProblemError } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { WebhookDeps } from './handlers.ts'
import { deliveryView, findWebhook } from './webhook-view.ts'

/** What was sent, what is sent to try, and what is sent again. */
export function deliveryHandlers({ store, dispatcher, now }: WebhookDeps) {
  return {
    async testWebhook({ params }, context) {
      const delivery = await store.transaction(async (tx) => {
        const row = await findWebhook(store, params.hook)
        await tx.audit.append(context.audit({ action: 'webhook.test', target: row.name }))
        return await tx.webhooks.insertDelivery({
          id: newId('msg'),
          webhook: row.id,
          eventSeq: null,
          type: 'webhook.test',
          project: null,
          // Not for the dispatcher: it is sent here, once.
          nextAttemptAt: null,
          payload: {
            type: 'webhook.test',
            timestamp: now().toISOString(),
            seq: null,
            project: null,
            data: { webhook: row.id, name: row.name },
          },
        })
      })
      return { status: 200, body: deliveryView((await dispatcher.attempt(delivery)) ?? delivery) }
    },

    async listDeliveries({ params, query }) {
      const { limit = 50, cursor, state } = query
      const row = await findWebhook(store, params.hook)
      const rows = await store.webhooks.deliveries({
        webhook: row.id,
        limit: limit + 1,
        ...(cursor === undefined ? {} : { cursor }),
        ...(state === undefined ? {} : { state }),
      })
      const items = rows.slice(0, limit).map(deliveryView)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.id : null } }
    },

    async redeliver({ params }, context) {
      const delivery = await store.transaction(async (tx) => {
        const row = await findWebhook(store, params.hook)
        const found = await store.webhooks.delivery(params.delivery)
        if (found === null || found.webhook !== row.id) {
          throw new ProblemError('not_found', `"${row.name}" has no delivery "${params.delivery}".`)
        }
        await tx.audit.append(
          context.audit({ action: 'webhook.redeliver', target: row.name, changes: { after: { delivery: found.id } } }),
        )
        const { attempts } = found
        return await tx.webhooks.updateDelivery(found.id, {
          state: 'pending',
          attempts,
          nextAttemptAt: now().toISOString(),
        })
      })
      dispatcher.wake()
      if (delivery === null) throw new ProblemError('not_found', 'The delivery was forgotten just now.')
      return { status: 202, body: deliveryView(delivery) }
    },
  } satisfies Partial<Handlers>
}
