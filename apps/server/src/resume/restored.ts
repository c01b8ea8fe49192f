import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { Model } from '../projects/model.ts'

/**
 * Whether what this state does not know is to be left alone: it was restored from a backup, and an engine holds something of projects
 * or runs that came after that. They are no leftovers, but somebody's. It ends by itself when an administrator has removed the last of
 * them; as long as an engine does not answer, it goes on.
 */
export async function sparesUnknown(
  { store, model }: { readonly store: Store; readonly model: Pick<Model, 'find'> },
  engines: readonly Engine[],
): Promise<boolean> {
  if (!(await isRestored(store))) return false
  const signal = AbortSignal.timeout(lookMs)
  const runs = new Set(await store.runs.ids())
  const lying = new Map((await store.trash.all()).map(({ id, project }) => [id, project]))
  const inTrash = new Set(lying.values())
  const isKnown = (id: string) => model.find(id) !== null || runs.has(id) || inTrash.has(id)
  const held = await Promise.all(engines.map((engine) => engine.projects(signal).catch(() => null)))
  if (held.some((ids) => ids === null || ids.some((id) => !isKnown(id)))) return true
  for (const [at, ids] of held.entries())
    for (const id of ids ?? []) {
      if (await holdsMore(engines[at]!, id, { lying, isHere: model.find(id) !== null }, signal)) return true
    }
  await store.transaction((tx) => tx.instance.set('restored', ''))
  return false
}

/** Data that lies aside for no item; or of a project that this state has in the trash, something that runs: it was brought back since. */
async function holdsMore(
  engine: Engine,
  id: string,
  { lying, isHere }: { readonly lying: ReadonlyMap<string, string>; readonly isHere: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if ((await engine.asides(id, signal)).some(({ key }) => !lying.has(key))) return true
    return !isHere && [...lying.values()].includes(id) && (await engine.observe(id, signal)).length > 0
  } catch {
    return true
  }
}

/** Whether this state was restored from a backup, and something is there that it may not know. */
export async function isRestored({ instance }: Pick<Store, 'instance'>): Promise<boolean> {
  const restored = await instance.get('restored')
  return restored !== null && restored !== ''
}

const lookMs = 60_000
