import { isDeepStrictEqual } from 'node:util'
import type { Addon, AddonDefinition } from '@stackquay/contract'
import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'

export type AddonUse = Addon['usedBy'][number]

/** Projects that have it, or keep data of it. What an engine cannot be asked for now counts as data. */
export async function usesOf(
  name: string,
  definition: AddonDefinition,
  { store, engine }: { readonly store: Store; readonly engine: Pick<Engine, 'dataNames'> },
  signal: AbortSignal,
): Promise<AddonUse[]> {
  const uses: AddonUse[] = []
  for (const { id, slug, spec } of await store.projects.all()) {
    const held = Object.hasOwn(spec.addons ?? {}, name) ? spec.addons?.[name] : undefined
    if (held === undefined) continue
    const hasData = await engine.dataNames(id, signal).then(
      (names) => names.includes(name),
      () => true,
    )
    const enabled = spec.services[name]?.enabled === true
    uses.push({ project: id, slug, enabled, hasData, outdated: enabled && !isDeepStrictEqual(held, definition) })
  }
  return uses
}
