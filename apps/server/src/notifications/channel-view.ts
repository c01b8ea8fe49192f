import {
  type NotificationChannel,
  type NotificationDelivery,
  type NotificationKind,
  ProblemError,
  visibleText,
} from '@stackquay/contract'
import type { NotificationChannelRow, NotificationDeliveryRow, Store } from '@stackquay/store'
import { z } from 'zod'
import type { ChannelKind } from './channel-kind.ts'
import { kindOf } from './channels/index.ts'
import { sealedSettings, secretsOf } from './sealed-settings.ts'

/** Throws `not_found`. */
export async function findChannel(
  { notifications }: Pick<Store, 'notifications'>,
  id: string,
): Promise<NotificationChannelRow> {
  const row = await notifications.find(id)
  if (row === null) throw new ProblemError('not_found', `There is no notification channel "${id}".`)
  return row
}

export async function channelView(
  store: Pick<Store, 'notifications' | 'secrets'>,
  row: NotificationChannelRow,
): Promise<NotificationChannel> {
  const [last] = await store.notifications.deliveries({ channel: row.id, limit: 1 })
  const kind = kindOf(row.kind)
  const secrets = (await sealedSettings(store, row.id)) ?? {}
  const presences = (kind === null ? [] : secretsOf(kind)).map((name) => [presenceOf(name), secrets[name] != null])
  const { id, name, events, projects, quietHours, cooldownMinutes, enabled, createdAt } = row
  return {
    id,
    name: visibleText(name),
    kind: row.kind,
    address: addressOf(kind, { ...row.settings, ...secrets }),
    settings: { ...row.settings, ...Object.fromEntries(presences) },
    events: [...events],
    projects: [...projects],
    quietHours,
    cooldownMinutes,
    enabled,
    createdAt,
    lastDelivery:
      last === undefined
        ? null
        : {
            state: last.state,
            at: last.attempts.at(-1)?.at ?? last.createdAt,
            error: last.attempts.at(-1)?.error ?? null,
          },
  }
}

/** For people: without what is secret of it. Empty where the settings cannot be read any more. */
export function addressOf(kind: ChannelKind | null, settings: Readonly<Record<string, unknown>>): string {
  const read = kind?.settings.safeParse(settings)
  return kind !== null && read?.success === true ? visibleText(kind.address(read.data)) : ''
}

export function kindView(kind: ChannelKind): NotificationKind {
  const { $schema: _dialect, ...settingsSchema } = z.toJSONSchema(kind.settings, {
    io: 'input',
    unrepresentable: 'any',
  })
  return { name: kind.name, label: kind.label, settingsSchema: settingsSchema as Record<string, unknown> }
}

export function notificationView(row: NotificationDeliveryRow): NotificationDelivery {
  const { id, channel, message, state, attempts, nextAttemptAt, createdAt } = row
  const { event, title, text } = message
  return { id, channel, event, title, text, state, attempts: [...attempts], nextAttemptAt, createdAt }
}

function presenceOf(name: string): string {
  return `has${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
