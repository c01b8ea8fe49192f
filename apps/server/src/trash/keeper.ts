import { setTimeout as sleep } from 'node:timers/promises'
import { dueInTrash } from '@stackquay/domain'
import { byTheService, ChangedError, type TrashItem } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import { isRestored } from '../resume/restored.ts'
import type { TrashDeps } from './set-aside.ts'
import { type Holding, type SettledFiles, settleItems } from './settle-items.ts'
import { trashEvent } from './trash-view.ts'

export interface TrashKeeperOptions extends TrashDeps {
  /** Nothing is purged before what the service of before had under way goes on. */
  readonly ready: Promise<void>
  /** Deleted files, which no engine has. */
  readonly files: SettledFiles & { purge(item: TrashItem): Promise<void> }
  /** Of a project that is gone for good: takes its user away. */
  retire(project: string): Promise<void>
  onError(error: unknown, what: string): void
}

export interface TrashKeeper {
  /** Of an item that is being purged: ends when it is gone. */
  purge(id: string): Promise<void>
  /** Throws `ChangedError` while somebody else has it. */
  readonly holding: Holding
  /** Ends with what is under way. */
  close(): Promise<void>
}

/**
 * Purges what is due by the clock on the wall, goes on with what somebody purges, and settles what was cut off. It looks every minute: a kill
 * or a month off loses nothing.
 */
export function openTrashKeeper(options: TrashKeeperOptions): TrashKeeper {
  const { store, onError, ready } = options
  const life = new AbortController()
  const held = new Set<string>()
  const purging = new Map<string, Promise<void>>()

  const purge = (id: string): Promise<void> => {
    const work = purging.get(id) ?? carryOut(id, options, life.signal).finally(() => purging.delete(id))
    purging.set(id, work)
    return work
  }
  const holding: Holding = async (id, work) => {
    if (held.has(id)) throw new ChangedError(`${id} is held.`)
    held.add(id)
    try {
      return await work()
    } finally {
      held.delete(id)
    }
  }
  const look = async () => {
    await settleItems(options, onError, holding)
    await markDue(options)
    for (const { id, state } of await store.trash.all()) {
      if (life.signal.aborted) return
      if (state === 'purging') await purge(id).catch((error: unknown) => onError(error, `purging ${id} in the trash`))
    }
  }
  const run = async () => {
    await Promise.race([ready, aborted(life.signal)])
    while (!life.signal.aborted) {
      await look().catch((error: unknown) => onError(error, 'looking at the trash'))
      await sleep(everyMs, undefined, { signal: life.signal, ref: false }).catch(() => undefined)
    }
  }
  // Projects that cannot be found are told of elsewhere.
  const running = run().catch(() => undefined)
  return {
    purge,
    holding,
    close: async () => {
      life.abort()
      await running
      await Promise.allSettled(purging.values())
    },
  }
}

const everyMs = 60_000

/** Written down, with its entry, before anything is deleted. Not in a state that was restored from a backup: what it says may be over. */
async function markDue({ store, now }: TrashDeps): Promise<void> {
  if (await isRestored(store)) return
  const items = await store.trash.all()
  for (const id of dueInTrash(items, now())) {
    await store
      .transaction(async (tx) => {
        const item = await tx.trash.setState(id, ['kept'], 'purging')
        await tx.audit.append(byTheService(purgeEntry(item)))
      })
      .catch((error: unknown) => {
        // Somebody was quicker.
        if (!(error instanceof ChangedError)) throw error
      })
  }
}

export function purgeEntry(item: TrashItem) {
  const { kind, name, slug, project, data, deletedAt, id } = item
  const changes = { item: id, kind, name, deletedAt, deletesData: data.map((one) => one.name) }
  return { action: 'trash.purge', target: kind === 'project' ? slug : `${slug}/${name}`, project, changes }
}

async function carryOut(
  id: string,
  { store, engine, files, retire }: TrashKeeperOptions,
  signal: AbortSignal,
): Promise<void> {
  const item = await store.trash.find(id)
  if (item === null || item.state !== 'purging') return
  if (item.kind === 'file') await files.purge(item)
  else for (const { name } of item.data) await engine.removeAside(item.project, { name, key: id }, signal)
  await store.transaction(async (tx) => {
    await tx.trash.delete(id)
    await tx.events.append(trashEvent(item, 'purged'))
  })
  const isGone = (await store.projects.find(item.project)) === null
  if (isGone && (await store.trash.ofProject(item.project)).length === 0) await retire(item.project)
}
