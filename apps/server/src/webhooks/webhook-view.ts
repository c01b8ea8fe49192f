import { ProblemError, visibleText, type Webhook, type WebhookDelivery } from '@stackquay/contract'
import type { DeliveryRow, Store, WebhookRow } from '@stackquay/store'

/** Throws `not_found`. */
export async function findWebhook({ webhooks }: Pick<Store, 'webhooks'>, id: string): Promise<WebhookRow> {
  const row = await webhooks.find(id)
  if (row === null) throw new ProblemError('not_found', `There is no webhook "${id}".`)
  return row
}

export async function webhookView({ webhooks }: Pick<Store, 'webhooks'>, row: WebhookRow): Promise<Webhook> {
  const [last] = await webhooks.deliveries({ webhook: row.id, limit: 1 })
  const lastDelivery = last === undefined ? null : { state: last.state, at: last.attempts.at(-1)?.at ?? last.createdAt }
  const { id, url, enabled, disabledReason, createdAt } = row
  return {
    id,
    name: visibleText(row.name),
    url,
    events: [...row.events],
    projects: [...row.projects],
    enabled,
    disabledReason,
    createdAt,
    lastDelivery,
  }
}

export function deliveryView(row: DeliveryRow): WebhookDelivery {
  const { id, webhook, type, project, state, nextAttemptAt, createdAt, payload } = row
  return { id, webhook, type, project, state, attempts: [...row.attempts], nextAttemptAt, createdAt, payload }
}
