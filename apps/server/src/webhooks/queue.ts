import type { EventRecord } from '@stackquay/contract'
import { type DeliveryRow, newId, type Store, type WebhookRow } from '@stackquay/store'

/** Name of the setting that holds the sequence number up to which events became deliveries. */
const positionSetting = 'webhooks.position'
/** Events of one transaction. */
const batch = 500

/** Turns events into deliveries. */
export interface Queue {
  /** Begins where it was left. */
  open(): Promise<void>
  /** Events since the last time become deliveries, together with the note of how far that went. */
  enqueue(): Promise<void>
}

export function createQueue({ store, now }: { readonly store: Store; readonly now: () => Date }): Queue {
  let position: number | null = null
  let noted = 0

  const open = async () => {
    const { last } = await store.events.range()
    const stored = await store.settings.get<number>(positionSetting)
    // The first start of all: what happened before is nobody's.
    if (stored === null) await store.transaction((tx) => tx.settings.set(positionSetting, last))
    position = stored ?? last
    noted = position
  }

  const enqueue = async () => {
    if (position === null) return
    for (;;) {
      const events = await store.events.after(position, batch)
      const last = events.at(-1)?.seq
      if (last === undefined) return
      const hooks = (await store.webhooks.all()).filter((hook) => hook.enabled)
      const told = events.flatMap((event) =>
        hooks.filter((hook) => wants(hook, event)).map((hook) => ({ hook, event })),
      )
      // Most events are nobody's: the note is written when there is something to write with it, or much was passed over, or
      // somebody else may want from now on what was passed over.
      const isOther = events.some(({ type }) => type === 'webhook.changed')
      if (told.length > 0 || isOther || last - noted >= batch) {
        await store.transaction(async (tx) => {
          for (const { hook, event } of told) {
            await tx.webhooks.insertDelivery({
              id: newId('msg'),
              webhook: hook.id,
              eventSeq: event.seq,
              type: event.type,
              project: event.project,
              nextAttemptAt: now().toISOString(),
              payload: payloadOf(event),
            })
          }
          await tx.settings.set(positionSetting, last)
        })
        noted = last
      }
      position = last
      // Whatever is written from now on wakes us again.
      if (events.length < batch) return
    }
  }

  return { open, enqueue }
}

function wants(hook: WebhookRow, { type, project }: EventRecord): boolean {
  return (
    hook.events.includes(type) && (hook.projects.length === 0 || (project !== null && hook.projects.includes(project)))
  )
}

function payloadOf({ seq, type, time, project, data }: EventRecord): DeliveryRow['payload'] {
  return { type, timestamp: time, seq, project, data }
}
