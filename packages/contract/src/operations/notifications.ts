import { z } from 'zod'
import { operation } from '../operation.ts'
import { ListQuery, pageOf } from '../schemas/common.ts'
import {
  NotificationChannel,
  NotificationChannelCreate,
  NotificationChannelId,
  NotificationChannelList,
  NotificationChannelPatch,
  NotificationDelivery,
} from '../schemas/notifications.ts'

const admin = { kind: 'scope', scope: 'admin', instance: true } as const
const one = z.object({ channel: NotificationChannelId })

export const listNotificationChannels = operation({
  id: 'listNotificationChannels',
  method: 'GET',
  path: '/settings/notifications',
  tag: 'Notifications',
  summary: 'Where people are told, and which kinds of channels there are',
  description: 'Secrets are never listed.',
  access: admin,
  results: { 200: NotificationChannelList },
  problems: [],
})

export const createNotificationChannel = operation({
  id: 'createNotificationChannel',
  method: 'POST',
  path: '/settings/notifications',
  tag: 'Notifications',
  summary: 'Add a channel',
  description: 'Nothing is sent yet: test it.',
  access: admin,
  body: NotificationChannelCreate,
  results: { 201: NotificationChannel },
  problems: ['validation_failed', 'conflict'],
  audit: 'notification.create',
})

export const updateNotificationChannel = operation({
  id: 'updateNotificationChannel',
  method: 'PATCH',
  path: '/settings/notifications/{channel}',
  tag: 'Notifications',
  summary: 'Change a channel; what is absent stays as it is',
  description: 'Follows JSON Merge Patch (RFC 7396), in `settings` too. Another address needs the secrets again.',
  access: admin,
  params: one,
  body: NotificationChannelPatch,
  bodyTypes: ['application/merge-patch+json'],
  results: { 200: NotificationChannel },
  problems: ['validation_failed', 'conflict'],
  audit: 'notification.update',
})

export const deleteNotificationChannel = operation({
  id: 'deleteNotificationChannel',
  method: 'DELETE',
  path: '/settings/notifications/{channel}',
  tag: 'Notifications',
  summary: 'Remove a channel and its deliveries',
  description: 'What waits is dropped.',
  access: admin,
  params: one,
  results: { 204: null },
  problems: [],
  audit: 'notification.delete',
  removes: 'record',
})

export const testNotificationChannel = operation({
  id: 'testNotificationChannel',
  method: 'POST',
  path: '/settings/notifications/{channel}/test',
  tag: 'Notifications',
  summary: 'Send a test message now, once, and answer how it went',
  description: 'Also possible while the channel is off, and in quiet hours.',
  access: admin,
  params: one,
  results: { 200: NotificationDelivery },
  problems: [],
  audit: 'notification.test',
})

export const listNotificationDeliveries = operation({
  id: 'listNotificationDeliveries',
  method: 'GET',
  path: '/settings/notifications/{channel}/deliveries',
  tag: 'Notifications',
  summary: 'What was sent, newest first',
  description: 'Each with its attempts.',
  access: admin,
  params: one,
  query: ListQuery,
  results: { 200: pageOf('NotificationDeliveryPage', NotificationDelivery) },
  problems: ['invalid_request'],
})
