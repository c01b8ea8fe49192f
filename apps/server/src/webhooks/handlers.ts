import { ProblemError } from '@stackquay/contract'
import { newId, type Store, TakenError, type WebhookRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { projectIds } from '../projects/project-ids.ts'
import { deliveryHandlers } from './delivery-handlers.ts'
import type { Dispatcher } from './dispatcher.ts'
import { addressBlocker } from './receivers.ts'
import { sealedKeys, webhookSecret } from './sealed-keys.ts'
import { newWebhookSecret, rotated, writeKeys } from './signature.ts'
import { findWebhook, webhookView } from './webhook-view.ts'

export interface WebhookDeps {
  readonly store: Store
  readonly dispatcher: Dispatcher
  readonly now: () => Date
}

/** Where events are sent. The signing secret is answered when it is made, and never again. */
export function webhookHandlers(deps: WebhookDeps) {
  return { ...hookHandlers(deps), ...rotateHandler(deps), ...deliveryHandlers(deps) }
}

function hookHandlers({ store, dispatcher }: WebhookDeps) {
  return {
    async listWebhooks() {
      const rows = await store.webhooks.all()
      return { status: 200, body: { items: await Promise.all(rows.map((row) => webhookView(store, row))) } }
    },

    async createWebhook({ body }, context) {
      const { name, url, events, enabled } = body
      checkUrl(url)
      const projects = await projectIds(store, body.projects)
      const id = newId('wh')
      const secret = newWebhookSecret()
      const row = await store
        .transaction(async (tx) => {
          const made = await tx.webhooks.insert({ id, name, url, events: [...new Set(events)], projects, enabled })
          await tx.secrets.put(null, webhookSecret(id), writeKeys({ current: secret, previous: null }))
          const after = { name, url: shownUrl(url), events, projects, enabled }
          await tx.audit.append(context.audit({ action: 'webhook.create', target: name, changes: { after } }))
          await tx.events.append({ type: 'webhook.changed', project: null, data: { id } })
          return made
        })
        .catch(nameTaken(name))
      return { status: 201, body: { ...(await webhookView(store, row)), secret } }
    },

    async updateWebhook({ params, body }, context) {
      if (body.url !== undefined) checkUrl(body.url)
      const projects = body.projects === undefined ? undefined : await projectIds(store, body.projects)
      const row = await store
        .transaction(async (tx) => {
          const before = await findWebhook(store, params.hook)
          const change = {
            ...(body.name === undefined ? {} : { name: body.name }),
            ...(body.url === undefined ? {} : { url: body.url }),
            ...(body.events === undefined ? {} : { events: [...new Set(body.events)] }),
            ...(projects === undefined ? {} : { projects }),
            ...(body.enabled === undefined ? {} : { enabled: body.enabled }),
          }
          // Whoever changes the address or switches it on gives it a new chance.
          const fresh = body.enabled === true || body.url !== undefined
          const after = await tx.webhooks.update(before.id, {
            ...change,
            ...(fresh ? { disabledReason: null, failingSince: null } : {}),
          })
          await tx.audit.append(
            context.audit({
              action: 'webhook.update',
              target: before.name,
              changes: { before: shown(before), after: shown(after) },
            }),
          )
          await tx.events.append({ type: 'webhook.changed', project: null, data: { id: before.id } })
          return after
        })
        .catch(nameTaken(body.name ?? ''))
      dispatcher.wake()
      return { status: 200, body: await webhookView(store, row) }
    },

    async deleteWebhook({ params }, context) {
      await store.transaction(async (tx) => {
        const row = await findWebhook(store, params.hook)
        await tx.webhooks.delete(row.id)
        await tx.secrets.delete(null, webhookSecret(row.id))
        const changes = { before: shown(row) }
        await tx.audit.append(context.audit({ action: 'webhook.delete', target: row.name, changes }))
        await tx.events.append({ type: 'webhook.changed', project: null, data: { id: row.id } })
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

function rotateHandler({ store, now }: WebhookDeps) {
  return {
    async rotateWebhookSecret({ params }, context) {
      const { row, secret } = await store.transaction(async (tx) => {
        const found = await findWebhook(store, params.hook)
        const before = await sealedKeys(store, found.id)
        const next = before === null ? { current: newWebhookSecret(), previous: null } : rotated(before, now())
        await tx.secrets.put(null, webhookSecret(found.id), writeKeys(next))
        const changes = { before: { secret: '[secret]' }, after: { secret: '[secret]' } }
        await tx.audit.append(context.audit({ action: 'webhook.rotate', target: found.name, changes }))
        return { row: found, secret: next.current }
      })
      return { status: 200, body: { ...(await webhookView(store, row)), secret } }
    },
  } satisfies Partial<Handlers>
}

function shown({ name, url, events, projects, enabled }: WebhookRow) {
  return { name, url: shownUrl(url), events, projects, enabled }
}

/** Receivers of some products carry their key in the path or query: the audit log is kept for ever and read by many. */
function shownUrl(url: string): string {
  return new URL(url).origin
}

function checkUrl(url: string): void {
  const { hostname, username, password } = new URL(url)
  const detail =
    addressBlocker(hostname.replace(/^\[|\]$/g, '')) ??
    (username !== '' || password !== '' ? 'Leave user name and password out of the address.' : null)
  if (detail === null) return
  throw new ProblemError('validation_failed', detail, {
    errors: [{ pointer: '/url', code: 'not_allowed', detail }],
  })
}

function nameTaken(name: string) {
  return (error: unknown): never => {
    if (!(error instanceof TakenError)) throw error
    throw new ProblemError('conflict', `There is a webhook "${name}" already.`, { hint: 'Choose another name.' })
  }
}
