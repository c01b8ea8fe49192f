import type { Addon } from '@stackquay/contract'

export type AddonUse = Addon['usedBy'][number]

/** Projects that stand against its removal: they have it, or keep data of it. */
export function holdersOf(uses: readonly AddonUse[]): readonly AddonUse[] {
  return uses.filter(({ enabled, hasData }) => enabled || hasData)
}

/** Projects that go on with an earlier definition until their next start. */
export function lateOf(uses: readonly AddonUse[]): readonly string[] {
  return uses.filter(({ outdated }) => outdated).map(({ slug }) => slug)
}
