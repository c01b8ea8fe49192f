import type { AddonDefinition } from '@stackquay/contract'
import type { Store } from '@stackquay/store'

/** The addons of the instance as a value: read at boot, and again after each change. */
export interface AddonsKeeper {
  readonly now: () => Readonly<Record<string, AddonDefinition>>
  changed(): Promise<void>
}

export async function openAddons({ addons }: Pick<Store, 'addons'>): Promise<AddonsKeeper> {
  const read = async () => Object.fromEntries((await addons.all()).map(({ name, definition }) => [name, definition]))
  let current = await read()
  return {
    now: () => current,
    changed: async () => {
      current = await read()
    },
  }
}
