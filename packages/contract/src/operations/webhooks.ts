import { z } from 'zod'
import { operation } from '../operation.ts'
import { Cursor, Limit, listOf, pageOf } from '../schemas/common.ts'
import {
  deliveryStates,
  Webhook,
  WebhookCreate,
  WebhookDelivery,
  WebhookId,
  WebhookPatch,
  WebhookWithSecret,
} from '../schemas/webhooks.ts'

const admin = { kind: 'scope', scope: 'admin', instance: true } as const
const one = z.object({ hook: WebhookId })
const delivery = z.object({ hook: WebhookId, delivery: z.string().min(1).max(60) })

export const listWebhooks = operation({
  id: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
  tag: 'Webhooks',
  summary: 'Where events are sent',
  access: admin,
  results: { 200: listOf('WebhookList', Webhook) },
  problems: [],
})

export const createWebhook = operation({
  id: 'createWebhook',
  method: 'POST',
  path: '/webhooks',
  tag: 'Webhooks',
  summary: 'Send events to an address; the signing secret is shown this once',
  access: admin,
  body: WebhookCreate,
  results: { 201: WebhookWithSecret },
  problems: ['validation_failed', 'conflict'],
  audit: 'webhook.create',
})

export const updateWebhook = operation({
  id: 'updateWebhook',
  method: 'PATCH',
  path: '/webhooks/{hook}',
  tag: 'Webhooks',
  summary: 'Change a webhook; what is absent stays as it is',
  access: admin,
  params: one,
  body: WebhookPatch,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: Webhook },
  problems: ['validation_failed', 'conflict'],
  audit: 'webhook.update',
})

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  method: 'DELETE',
  path: '/webhooks/{hook}',
  tag: 'Webhooks',
  summary: 'Stop sending and forget the deliveries',
  access: admin,
  params: one,
  results: { 204: null },
  problems: [],
  audit: 'webhook.delete',
})

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/{hook}/rotate',
  tag: 'Webhooks',
  summary: 'Make a new signing secret; for a day both sign',
  access: admin,
  params: one,
  results: { 200: WebhookWithSecret },
  problems: [],
  audit: 'webhook.rotate',
})

export const testWebhook = operation({
  id: 'testWebhook',
  method: 'POST',
  path: '/webhooks/{hook}/test',
  tag: 'Webhooks',
  summary: 'Send a test event now, once, and answer how it went',
  access: admin,
  params: one,
  results: { 200: WebhookDelivery },
  problems: [],
  audit: 'webhook.test',
})

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: '/webhooks/{hook}/deliveries',
  tag: 'Webhooks',
  summary: 'What was sent, newest first',
  access: admin,
  params: one,
  query: z.strictObject({ limit: Limit, cursor: Cursor, state: z.enum(deliveryStates).optional() }),
  results: { 200: pageOf('DeliveryPage', WebhookDelivery) },
  problems: ['invalid_request'],
})

export const redeliver = operation({
  id: 'redeliver',
  method: 'POST',
  path: '/webhooks/{hook}/deliveries/{delivery}/redeliver',
  tag: 'Webhooks',
  summary: 'Send a delivery again now, with the same id',
  access: admin,
  params: delivery,
  results: { 202: WebhookDelivery },
  problems: [],
  audit: 'webhook.redeliver',
})
