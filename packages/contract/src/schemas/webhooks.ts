import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { Time } from './common.ts'
import { eventTypes } from './system.ts'

export const WebhookId = z.string().min(1).max(60).describe('Id of a webhook: `wh_…`.')
const Url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .max(2000)
  .describe('Where events are sent: an http or https address.')
const EventTypes = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(eventTypes.length)
  .describe('Which events. `operation.output` is never sent.')
const Projects = z.array(z.string().min(1).max(60)).max(200).describe('Ids or slugs; empty for all.')

export const WebhookCreate = z
  .strictObject({
    name: shownName(),
    url: Url,
    events: EventTypes,
    projects: Projects.default([]),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'WebhookCreate' })
export const WebhookPatch = z
  .strictObject({
    name: shownName().optional(),
    url: Url.optional(),
    events: EventTypes.optional(),
    projects: Projects.optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'WebhookPatch' })
export const Webhook = z
  .object({
    id: WebhookId,
    name: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    projects: z.array(z.string()).describe('Ids.'),
    enabled: z.boolean(),
    disabledReason: z.string().nullable().describe('Why the service switched it off: it failed for too long.'),
    createdAt: Time,
    lastDelivery: z.object({ state: z.string(), at: Time }).meta({ id: 'LastDelivery' }).nullable(),
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>
export const WebhookWithSecret = Webhook.extend({
  secret: z.string().describe('`whsec_…`, shown this once: the key of the signatures (Standard Webhooks).'),
}).meta({ id: 'WebhookWithSecret' })

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
export const WebhookDelivery = z
  .object({
    id: z.string().describe('`msg_…`: the header `webhook-id`, the same in every attempt.'),
    webhook: WebhookId,
    type: z.string(),
    project: z.string().nullable(),
    state: z.enum(deliveryStates),
    attempts: z.array(
      z
        .object({
          at: Time,
          status: z.int().nullable().describe('HTTP status of the answer; null when there was none.'),
          error: z.string().nullable(),
          durationSeconds: z.number(),
        })
        .meta({ id: 'DeliveryAttempt' }),
    ),
    nextAttemptAt: Time.nullable(),
    createdAt: Time,
    payload: z.record(z.string(), z.unknown()).describe('The body that is sent.'),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>
