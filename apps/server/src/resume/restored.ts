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
  const restored = await store.instance.get('restored')
  if (restored === null || restored === '') return false
  const signal = AbortSignal.timeout(lookMs)
  const runs = new Set(await store.runs.ids())
  const isKnown = (id: string) => model.find(id) !== null || runs.has(id)
  const held = await Promise.all(engines.map((engine) => engine.projects(signal).catch(() => null)))
  if (held.some((ids) => ids === null || ids.some((id) => !isKnown(id)))) return true
  await store.transaction((tx) => tx.instance.set('restored', ''))
  return false
}

const lookMs = 60_000
