import { ProblemError } from '@stackquay/contract'
import { type NotificationChannelRow, newId, type Store, TakenError, type Transaction } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { projectIds } from '../projects/project-ids.ts'
import { addressOf, channelView, findChannel, kindView, notificationView } from './channel-view.ts'
import { channelKinds, kindOf } from './channels/index.ts'
import type { Notifier } from './dispatcher.ts'
import { checkQuietHours, knownKind, mergeSettings, readSettings } from './read-settings.ts'
import { channelSecret, sealedSettings } from './sealed-settings.ts'

export interface NotificationDeps {
  readonly store: Store
  readonly notifier: Notifier
}

/** Where people are told what happened. What is secret of a channel is never answered. */
export function notificationHandlers(deps: NotificationDeps) {
  return { ...channelHandlers(deps), ...updateHandler(deps), ...deliveryHandlers(deps) }
}

function channelHandlers({ store }: NotificationDeps) {
  return {
    async listNotificationChannels() {
      const rows = await store.notifications.all()
      const items = await Promise.all(rows.map((row) => channelView(store, row)))
      return { status: 200, body: { items, kinds: channelKinds.map(kindView) } }
    },

    async createNotificationChannel({ body }, context) {
      const { name, events, quietHours, cooldownMinutes, enabled } = body
      const { open, sealed } = readSettings(knownKind(body.kind), body.settings)
      checkQuietHours(quietHours)
      const projects = await projectIds(store, body.projects)
      const id = newId('ntc')
      const rules = { events: [...new Set(events)], projects, quietHours, cooldownMinutes, enabled }
      const row = await store
        .transaction(async (tx) => {
          await seal(tx, id, sealed)
          const made = await tx.notifications.insert({ id, name, kind: body.kind, settings: open, ...rules })
          const after = shown(made, sealed)
          await tx.audit.append(context.audit({ action: 'notification.create', target: name, changes: { after } }))
          await tellChange(tx, id)
          return made
        })
        .catch(nameTaken(name))
      return { status: 201, body: await channelView(store, row) }
    },

    async deleteNotificationChannel({ params }, context) {
      await store.transaction(async (tx) => {
        const row = await findChannel(store, params.channel)
        const before = shown(row, (await sealedSettings(store, row.id)) ?? {})
        await tx.notifications.delete(row.id)
        await tx.secrets.delete(null, channelSecret(row.id))
        await tx.audit.append(context.audit({ action: 'notification.delete', target: row.name, changes: { before } }))
        await tellChange(tx, row.id)
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

function updateHandler({ store, notifier }: NotificationDeps) {
  return {
    async updateNotificationChannel({ params, body }, context) {
      checkQuietHours(body.quietHours)
      const projects = body.projects === undefined ? undefined : await projectIds(store, body.projects)
      const row = await store
        .transaction(async (tx) => {
          const before = await findChannel(store, params.channel)
          const sealed = (await sealedSettings(store, before.id)) ?? {}
          const next =
            body.settings === undefined
              ? null
              : mergeSettings(knownKind(before.kind), { open: before.settings, sealed }, body.settings)
          if (next !== null) await seal(tx, before.id, next.sealed)
          const after = await tx.notifications.update(before.id, {
            ...(body.name === undefined ? {} : { name: body.name }),
            ...(next === null ? {} : { settings: next.open }),
            ...(body.events === undefined ? {} : { events: [...new Set(body.events)] }),
            ...(projects === undefined ? {} : { projects }),
            ...(body.quietHours === undefined ? {} : { quietHours: body.quietHours }),
            ...(body.cooldownMinutes === undefined ? {} : { cooldownMinutes: body.cooldownMinutes }),
            ...(body.enabled === undefined ? {} : { enabled: body.enabled }),
          })
          const changes = { before: shown(before, sealed), after: shown(after, next?.sealed ?? sealed) }
          await tx.audit.append(context.audit({ action: 'notification.update', target: before.name, changes }))
          await tellChange(tx, before.id)
          return after
        })
        .catch(nameTaken(body.name ?? ''))
      notifier.wake()
      return { status: 200, body: await channelView(store, row) }
    },
  } satisfies Partial<Handlers>
}

function deliveryHandlers({ store, notifier }: NotificationDeps) {
  return {
    async testNotificationChannel({ params }, context) {
      const delivery = await store.transaction(async (tx) => {
        const row = await findChannel(store, params.channel)
        await tx.audit.append(context.audit({ action: 'notification.test', target: row.name }))
        return await tx.notifications.insertDelivery({
          id: newId('msg'),
          channel: row.id,
          message: {
            event: 'test',
            project: null,
            title: 'Test message from Stackquay',
            text: `The channel "${row.name}" works.`,
          },
          // Not for the notifier: it is sent here, once.
          nextAttemptAt: null,
        })
      })
      return { status: 200, body: notificationView((await notifier.attempt(delivery)) ?? delivery) }
    },

    async listNotificationDeliveries({ params, query }) {
      const { limit = 50, cursor } = query
      const { id: channel } = await findChannel(store, params.channel)
      const rows = await store.notifications.deliveries({
        channel,
        limit: limit + 1,
        ...(cursor === undefined ? {} : { cursor }),
      })
      const items = rows.slice(0, limit).map(notificationView)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.id : null } }
    },
  } satisfies Partial<Handlers>
}

async function seal(tx: Transaction, id: string, sealed: Readonly<Record<string, unknown>>): Promise<void> {
  await tx.secrets.put(null, channelSecret(id), JSON.stringify(sealed))
}

async function tellChange(tx: Transaction, id: string): Promise<void> {
  await tx.events.append({ type: 'notification.changed', project: null, data: { id } })
}

/** For the audit log: that a secret is another one, never which. */
function shown(row: NotificationChannelRow, sealed: Readonly<Record<string, unknown>>) {
  const { name, kind, settings, events, projects, quietHours, cooldownMinutes, enabled } = row
  const secrets = Object.entries(sealed).map(([key, value]) => [key, value == null ? null : '[secret]'])
  const address = addressOf(kindOf(kind), { ...settings, ...sealed })
  return {
    name,
    kind,
    address,
    settings: { ...settings, ...Object.fromEntries(secrets) },
    events,
    projects,
    quietHours,
    cooldownMinutes,
    enabled,
  }
}

function nameTaken(name: string) {
  return (error: unknown): never => {
    if (!(error instanceof TakenError)) throw error
    throw new ProblemError('conflict', `There is a notification channel "${name}" already.`, {
      hint: 'Choose another name.',
    })
  }
}
