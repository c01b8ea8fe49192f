import { z } from 'zod'
import { shownName } from '../shown-name.ts'
import { Time } from './common.ts'
import { deliveryStates, WebhookDelivery } from './webhooks.ts'

/** What people are told of. */
export const notificationEvents = [
  'down',
  'failed',
  'out-of-memory',
  'recovered',
  'backup-failed',
  'backup-unverified',
  'drill-failed',
  'cron-failed',
  'deploy-failed',
  'disk',
  'new-device',
  'second-factor',
  'audit-broken',
  'certificate',
] as const
export type NotificationEvent = (typeof notificationEvents)[number]

export const NotificationChannelId = z.string().min(1).max(60).describe('Id of a notification channel: `ntc_…`.')
const Kind = z.string().min(1).max(30).describe('One of `kinds` of the list.')
const Events = z.array(z.enum(notificationEvents)).min(1).max(notificationEvents.length).describe('Which events.')
const Projects = z.array(z.string().min(1).max(60)).max(200).describe('Ids or slugs; empty for all.')
const WallTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from 00:00 to 23:59')
export const QuietHours = z
  .strictObject({
    from: WallTime.describe('When they begin.'),
    to: WallTime.describe('When they end.'),
    timezone: z.string().min(1).max(60).describe('`Europe/Berlin`.'),
  })
  .meta({ id: 'QuietHours' })
export type QuietHours = z.infer<typeof QuietHours>
const Quiet = QuietHours.nullable().describe('What happens then is told at their end; null without.')
const Cooldown = z
  .int()
  .min(1)
  .max(1440)
  .describe('Minutes between two messages about the same thing; what happens meanwhile is told in one.')
const Settings = z.record(z.string().max(40), z.unknown()).describe('As the `settingsSchema` of its kind says.')

export const NotificationChannelCreate = z
  .strictObject({
    name: shownName(),
    kind: Kind,
    settings: Settings,
    events: Events.default([...notificationEvents]),
    projects: Projects.default([]),
    quietHours: Quiet.default(null),
    cooldownMinutes: Cooldown.default(30),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'NotificationChannelCreate' })
export const NotificationChannelPatch = z
  .strictObject({
    name: shownName().optional(),
    settings: Settings.optional(),
    events: Events.optional(),
    projects: Projects.optional(),
    quietHours: Quiet.optional(),
    cooldownMinutes: Cooldown.optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'NotificationChannelPatch' })

export const NotificationChannel = z
  .object({
    id: NotificationChannelId,
    name: z.string(),
    kind: z.string(),
    address: z.string().describe('Where it leads, without what is secret of it.'),
    settings: z.record(z.string(), z.unknown()).describe('Of a secret `url` only `hasUrl`.'),
    events: z.array(z.string()),
    projects: z.array(z.string()).describe('Ids; empty for all.'),
    quietHours: QuietHours.nullable().describe('Null without.'),
    cooldownMinutes: z.int().describe('Minutes between messages.'),
    enabled: z.boolean(),
    createdAt: Time,
    lastDelivery: z
      .object({ state: z.enum(deliveryStates), at: Time, error: z.string().nullable() })
      .meta({ id: 'LastNotification' })
      .nullable(),
  })
  .meta({ id: 'NotificationChannel' })
export type NotificationChannel = z.infer<typeof NotificationChannel>

export const NotificationKind = z
  .object({
    name: z.string(),
    label: z.string(),
    settingsSchema: z.record(z.string(), z.unknown()).describe('JSON Schema of `settings`.'),
  })
  .meta({ id: 'NotificationKind' })
export type NotificationKind = z.infer<typeof NotificationKind>

export const NotificationChannelList = z
  .object({ items: z.array(NotificationChannel), kinds: z.array(NotificationKind).describe('What there can be.') })
  .meta({ id: 'NotificationChannelList' })

export const NotificationDelivery = WebhookDelivery.pick({
  state: true,
  attempts: true,
  nextAttemptAt: true,
  createdAt: true,
})
  .extend({
    id: z.string().describe('`msg_…`, the same in every attempt.'),
    channel: NotificationChannelId,
    event: z.string().describe('What it tells of; `summary` of several, `test` of none.'),
    title: z.string(),
    text: z.string(),
  })
  .meta({ id: 'NotificationDelivery' })
export type NotificationDelivery = z.infer<typeof NotificationDelivery>
