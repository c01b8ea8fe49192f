import type { Engine } from '@stackquay/engine-api'
import { byTheService, ChangedError, type TrashItem } from '@stackquay/store'
import type { TrashDeps } from './set-aside.ts'

const patienceMs = 60_000

/**
 * Of a deletion that did not come to its end: the project stays, with its data. Data that cannot go back, because the project has new data
 * of that name, stays in the trash, and is listed there.
 */
export async function undoDeletion(item: TrashItem, { store, engine }: TrashDeps): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  const left: string[] = []
  for (const { name } of item.data) {
    const isAside = (await engine.asides(item.project, signal)).some((one) => one.name === name && one.key === item.id)
    if (!isAside) continue
    if ((await engine.dataNames(item.project, signal)).includes(name)) left.push(name)
    else await engine.putDataBack(item.project, { name, key: item.id }, signal)
  }
  await store.transaction(async (tx) => {
    if (left.length === 0) return tx.trash.delete(item.id)
    await tx.trash.setState(item.id, ['moving'], 'kept')
  })
}

/**
 * Of data whose removal was cut off: the project's settings are without it already, so it goes on; unless the data itself, which goes before
 * its snapshots and archives, was not moved.
 */
export async function finishRemoval(item: TrashItem, { store, engine }: TrashDeps): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  const asides = await engine.asides(item.project, signal)
  const isAside = asides.some((one) => one.name === item.data[0]?.name && one.key === item.id)
  if (isAside) for (const { name } of item.data) await engine.setDataAside(item.project, { name, key: item.id }, signal)
  await store.transaction((tx) => (isAside ? tx.trash.takeData(item.id) : tx.trash.delete(item.id)))
}

/** A restore that was cut off before it was written: what was put back is moved again. */
export async function undoRestore(item: TrashItem, { store, engine }: TrashDeps): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  for (const { name } of item.data) await engine.setDataAside(item.project, { name, key: item.id }, signal)
  await store.transaction((tx) => tx.trash.setState(item.id, ['restoring'], 'kept'))
}

/** Runs the work while nobody else settles, restores or purges the item. */
export type Holding = <T>(id: string, work: () => Promise<T>) => Promise<T>

/** Deleted files, which no engine has. */
export interface SettledFiles {
  settle(item: TrashItem): Promise<void>
}

/** What was cut off, unless an operation goes on with it. */
export async function settleItems(
  deps: TrashDeps & { readonly files?: SettledFiles },
  onError: (error: unknown, what: string) => void,
  holding: Holding = (_id, work) => work(),
): Promise<void> {
  for (const { id, state } of await deps.store.trash.all()) {
    if (state !== 'moving' && state !== 'restoring') continue
    await holding(id, () => settleItem(id, deps)).catch((error: unknown) => {
      if (!(error instanceof ChangedError)) onError(error, `settling ${id} in the trash`)
    })
  }
}

/** By what it is now: who held it before may have brought it to its end. */
async function settleItem(id: string, deps: TrashDeps & { readonly files?: SettledFiles }): Promise<void> {
  const item = await deps.store.trash.find(id)
  if (item?.kind === 'file') {
    // Before there is anybody for files, they wait for the keeper’s next look.
    if (item.state === 'moving' || item.state === 'restoring') await deps.files?.settle(item)
    return
  }
  if (item?.state === 'restoring') return undoRestore(item, deps)
  if (item?.state !== 'moving') return
  const operation = item.operation === null ? null : await deps.store.operations.find(item.operation)
  if (operation?.state === 'queued' || operation?.state === 'running') return
  return item.kind === 'project' ? undoDeletion(item, deps) : finishRemoval(item, deps)
}

/**
 * After a restore of the instance to a state from before a deletion: data that lies aside, and that this state knows as the project's own,
 * goes back to it, unless there is new data of that name by now. What stays aside is left alone and listed.
 */
export async function putUnknownBack(
  {
    store,
    engine,
  }: { readonly store: TrashDeps['store']; readonly engine: Pick<Engine, 'asides' | 'dataNames' | 'putDataBack'> },
  onError: (error: unknown, what: string) => void,
): Promise<readonly { readonly project: string; readonly data: string }[]> {
  const known = new Set((await store.trash.all()).map(({ id }) => id))
  const back: { project: string; data: string }[] = []
  for (const { id: project, slug } of await store.projects.all()) {
    const signal = AbortSignal.timeout(patienceMs)
    try {
      // Of several, the first deletion after the state was backed up took what it knows.
      const unknown = (await engine.asides(project, signal)).filter(({ key }) => !known.has(key))
      for (const aside of unknown.toSorted((one, other) => (one.key < other.key ? -1 : 1))) {
        if ((await engine.dataNames(project, signal)).includes(aside.name)) continue
        await engine.putDataBack(project, aside, signal)
        const changes = { item: aside.key, because: 'The instance was restored to a state that has it.' }
        const entry = { action: 'trash.restore', target: `${slug}/${aside.name}`, project, changes }
        await store.transaction((tx) => tx.audit.append(byTheService(entry)))
        back.push({ project, data: aside.name })
      }
    } catch (error) {
      onError(error, `putting data of "${slug}" back`)
    }
  }
  return back
}
