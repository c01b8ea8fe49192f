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
const delivery = z.object({
  hook: WebhookId,
  delivery: z.string().min(1).max(60).describe('Id of a delivery: `msg_…`.'),
})

export const listWebhooks = operation({
  id: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
  tag: 'Webhooks',
  summary: 'Where events are sent',
  description: 'Secrets are never listed.',
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
  description: 'Requests are signed after Standard Webhooks.',
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
  description: 'Follows JSON Merge Patch (RFC 7396).',
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
  description: 'Deliveries that wait are dropped.',
  access: admin,
  params: one,
  results: { 204: null },
  problems: [],
  audit: 'webhook.delete',
  removes: 'record',
})

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/{hook}/rotate',
  tag: 'Webhooks',
  summary: 'Make a new signing secret; for a day both sign',
  description: 'Receivers have a day to take the new secret.',
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
  description: 'Also possible while the webhook is disabled.',
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
  description: 'Each with its attempts and what was sent.',
  access: admin,
  params: one,
  query: z.strictObject({
    limit: Limit,
    cursor: Cursor,
    state: z.enum(deliveryStates).optional().describe('Only deliveries in this state.'),
  }),
  results: { 200: pageOf('DeliveryPage', WebhookDelivery) },
  problems: ['invalid_request'],
})

export const redeliver = operation({
  id: 'redeliver',
  method: 'POST',
  path: '/webhooks/{hook}/deliveries/{delivery}/redeliver',
  tag: 'Webhooks',
  summary: 'Send a delivery again now, with the same id',
  description: 'Receivers that remember ids see it as a repetition.',
  access: admin,
  params: delivery,
  results: { 202: WebhookDelivery },
  problems: [],
  audit: 'webhook.redeliver',
})
