import type { EventRecord } from '@stackquay/contract'
import {
  afterEnding,
  afterIncident,
  dueAt,
  type Incident,
  messageOf,
  type NotificationGroup,
  type Told,
  tell,
  wants,
} from '@stackquay/domain'
import { type NotificationChannelRow, newId, type Store, type Transaction } from '@stackquay/store'
import type { News } from './news.ts'
import { mayBeNews, newsOfEvent } from './news-of-event.ts'

/** Name of the setting that holds the sequence number up to which events were taken. */
const positionSetting = 'notifications.position'
/** Events of one transaction. */
const batch = 500

/**
 * Turns events into what channels remember, and that into deliveries. How far events were taken is stored together with what came of
 * them, so none is lost or counted twice, wherever the service is killed.
 */
export interface NotificationQueue {
  /** Begins where it was left. */
  open(): Promise<void>
  /** Takes the events since the last time, and makes deliveries of what is due. */
  work(): Promise<void>
  /** Something that is seen by looking at it rather than told by an event. */
  take(news: readonly News[]): Promise<void>
  /** When the first thing is due; null when nothing is. */
  firstDue(): Promise<Date | null>
}

export function createNotificationQueue({
  store,
  now,
}: {
  readonly store: Store
  readonly now: () => Date
}): NotificationQueue {
  let position: number | null = null
  let noted = 0

  const enqueue = async () => {
    while (position !== null) {
      const events = await store.events.after(position, batch)
      const last = events.at(-1)?.seq
      if (last === undefined) return
      const channels = (await store.notifications.all()).filter(({ enabled }) => enabled)
      const news = channels.length === 0 ? [] : await newsOf(events, store)
      const isOther = events.some(({ type }) => type === 'notification.changed')
      const matters = news.length > 0 && (await mayMatter(news, channels, store))
      // Most events are nobody's: the note is written when there is something to write with it, much was passed over, or somebody else
      // may want from now on what was passed over.
      if (matters || isOther || last - noted >= batch) {
        await store.transaction(async (tx) => {
          if (matters) await remember(news, tx, store)
          if (isOther) await setDue(tx, store)
          await tx.settings.set(positionSetting, last)
        })
        noted = last
      }
      position = last
      if (events.length < batch) return
    }
  }

  return {
    open: async () => {
      const { last } = await store.events.range()
      const stored = await store.settings.get<number>(positionSetting)
      // The first start of all: what happened before is nobody's.
      if (stored === null) await store.transaction((tx) => tx.settings.set(positionSetting, last))
      position = stored ?? last
      noted = position
    },
    work: async () => {
      await enqueue()
      await tellDue(store, now)
    },
    take: async (news) => {
      const channels = (await store.notifications.all()).filter(({ enabled }) => enabled)
      if (channels.length === 0 || !(await mayMatter(news, channels, store))) return
      await store.transaction((tx) => remember(news, tx, store))
    },
    firstDue: async () => {
      const first = await store.notifications.firstDue()
      return first === null ? null : new Date(first)
    },
  }
}

/** A crash loop is many events of one project, whose name is looked up once. */
async function newsOf(events: readonly EventRecord[], store: Store): Promise<readonly News[]> {
  const found = new Map<string, ReturnType<Store['projects']['find']>>()
  const find: Store['projects']['find'] = (ref) => {
    const known = found.get(ref) ?? store.projects.find(ref)
    found.set(ref, known)
    return known
  }
  const lookups = { users: store.users, devices: store.devices, projects: { find } }
  return await Promise.all(events.filter(mayBeNews).map((event) => newsOfEvent(event, lookups)))
}

/** Whether a channel wants any of it, or remembers something that it ends. */
async function mayMatter(
  news: readonly News[],
  channels: readonly NotificationChannelRow[],
  { notifications }: Pick<Store, 'notifications'>,
): Promise<boolean> {
  if (news.some(({ incidents }) => incidents.some((one) => channels.some((channel) => isFor(channel, one)))))
    return true
  for (const prefix of new Set(news.flatMap(({ wellBelow }) => (wellBelow === null ? [] : [wellBelow.prefix]))))
    if ((await notifications.groupsFrom(prefix)).length > 0) return true
  return false
}

/** Whoever comes later hears nothing of what was before. */
function isFor(channel: NotificationChannelRow, incident: Incident): boolean {
  return wants(channel, incident) && incident.at >= channel.createdAt
}

/** In one transaction: channels are read anew, so that one that was removed meanwhile keeps nothing from being written. */
async function remember(news: readonly News[], tx: Transaction, { notifications }: Store): Promise<void> {
  const prefixes = news.flatMap(({ incidents, wellBelow }) => [
    ...(wellBelow === null ? [] : [wellBelow.prefix]),
    ...incidents.map(({ key }) => key),
  ])
  const known = new Map<string, Map<string, NotificationGroup>>()
  for (const prefix of new Set(prefixes)) {
    for (const { channel, group } of await notifications.groupsFrom(prefix)) {
      const ofChannel = known.get(channel) ?? new Map<string, NotificationGroup>()
      known.set(channel, ofChannel.set(group.key, group))
    }
  }
  for (const channel of (await notifications.all()).filter(({ enabled }) => enabled)) {
    const before = known.get(channel.id) ?? new Map<string, NotificationGroup>()
    const after = new Map(before)
    for (const one of news) rememberOne(one, channel, after)
    for (const [key, group] of after) if (group !== before.get(key)) await put(tx, channel, group)
  }
}

function rememberOne(
  { incidents, wellBelow }: News,
  channel: NotificationChannelRow,
  groups: Map<string, NotificationGroup>,
): void {
  for (const incident of incidents.filter((one) => isFor(channel, one)))
    groups.set(incident.key, afterIncident(groups.get(incident.key) ?? null, incident))
  if (wellBelow === null) return
  for (const [key, group] of groups) {
    const ending = key.startsWith(wellBelow.prefix) ? wellBelow.ending(key) : null
    if (ending !== null) groups.set(key, afterEnding(group, ending))
  }
}

/** The rules of a channel are others: what it remembers is due at other times. */
async function setDue(tx: Transaction, { notifications }: Store): Promise<void> {
  const channels = new Map((await notifications.all()).map((channel) => [channel.id, channel]))
  for (const { channel, group } of await notifications.groupsFrom('')) {
    const found = channels.get(channel)
    if (found !== undefined) await put(tx, found, group)
  }
}

async function put(tx: Transaction, channel: NotificationChannelRow, group: NotificationGroup): Promise<void> {
  await tx.notifications.putGroup(channel.id, group.key, group, dueAt(group, channel)?.toISOString() ?? null)
}

/** All that is due in a channel is one message. */
async function tellDue(store: Store, now: () => Date): Promise<void> {
  const first = await store.notifications.firstDue()
  if (first === null || Date.parse(first) > now().getTime()) return
  await store.transaction(async (tx) => {
    const at = now()
    for (const channel of await store.notifications.all()) {
      const told: Told[] = []
      for (const group of await store.notifications.due(channel.id, at.toISOString())) {
        // Nobody is told by a channel that is off, and what it remembers would be old when it is on again.
        const result = channel.enabled ? tell(group, channel, at) : { told: null, after: null }
        if (result.told !== null) told.push(result.told)
        if (result.after === null) await tx.notifications.putGroup(channel.id, group.key, null, null)
        else await put(tx, channel, result.after)
      }
      const [one, ...others] = told
      if (one === undefined) continue
      await tx.notifications.insertDelivery({
        id: newId('msg'),
        channel: channel.id,
        message: messageOf([one, ...others]),
        nextAttemptAt: at.toISOString(),
      })
    }
  })
}
