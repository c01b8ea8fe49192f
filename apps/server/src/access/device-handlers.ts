import { type DeviceView, ProblemError } from '@stackquay/contract'
import type { DeviceRow, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { sessionOf } from './session-of.ts'

/** The browsers that a person has logged in with. Forgetting one ends no session: its next log-in counts as a stranger's. */
export function deviceHandlers({ store }: { readonly store: Pick<Store, 'devices' | 'transaction'> }) {
  return {
    async listDevices({ query }, context) {
      const { limit = 50, cursor = '' } = query
      const rows = (await store.devices.of(sessionOf(context).user.id)).filter(({ id }) => id > cursor)
      const items = rows.slice(0, limit).map(viewOf)
      return { status: 200, body: { items, nextCursor: rows.length > limit ? items.at(-1)!.id : null } }
    },

    async forgetDevice({ params }, context) {
      const rows = await store.devices.of(sessionOf(context).user.id)
      const device = rows.find(({ id }) => id === params.did)
      if (device === undefined) throw new ProblemError('not_found', `You have no device "${params.did}".`)
      await store.transaction(async (tx) => {
        await tx.devices.delete(device.id)
        const { id, ip, userAgent, createdAt } = device
        await tx.audit.append(
          context.audit({ action: 'device.forget', target: id, changes: { before: { ip, userAgent, createdAt } } }),
        )
      })
      return { status: 204 }
    },
  } satisfies Partial<Handlers>
}

function viewOf({ id, createdAt, lastUsedAt, ip, userAgent }: DeviceRow): DeviceView {
  return { id, createdAt, lastUsedAt, ip, userAgent }
}
