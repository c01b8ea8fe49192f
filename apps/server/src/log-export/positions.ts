import type { Store } from '@stackquay/store'

/** Where sending stands: by id of the project. */
export type StoredPositions = Readonly<Record<string, ProjectPosition>>

export interface ProjectPosition {
  /** RFC 3339: older lines of workloads without a cursor are not sent. */
  readonly since: string
  /** Workload → the engine’s cursor of the last line that was taken, or given up. */
  readonly cursors: Readonly<Record<string, string>>
}

const positionsName = 'instance.logExport'

/** Kept in the store, written one after the other and only when something changed. */
export interface Positions {
  of(project: string): ProjectPosition | null
  begin(project: string, since: string): void
  passed(project: string, workload: string, cursor: string): void
  /** What is not among these begins anew when it comes back. */
  keepOnly(projects: ReadonlySet<string>): void
  save(): Promise<void>
}

export async function openPositions(store: Pick<Store, 'settings' | 'transaction'>): Promise<Positions> {
  const stored = (await store.settings.get<StoredPositions>(positionsName)) ?? {}
  const all = new Map(Object.entries(stored))
  let isChanged = false
  let last: Promise<void> = Promise.resolve()
  const write = async () => {
    if (!isChanged) return
    isChanged = false
    try {
      await writePositions(store, Object.fromEntries(all))
    } catch (error) {
      isChanged = true
      throw error
    }
  }
  return {
    of: (project) => all.get(project) ?? null,
    begin: (project, since) => {
      all.set(project, { since, cursors: {} })
      isChanged = true
    },
    passed: (project, workload, cursor) => {
      const known = all.get(project)
      // No longer among those whose lines are sent.
      if (known === undefined) return
      all.set(project, { ...known, cursors: { ...known.cursors, [workload]: cursor } })
      isChanged = true
    },
    keepOnly: (projects) => {
      for (const project of all.keys()) if (!projects.has(project)) isChanged = all.delete(project)
    },
    save: () => {
      const mine = last.then(write)
      last = mine.catch(() => undefined)
      return mine
    },
  }
}

/** After it was switched off; what is printed until it is switched on again is not sent. */
export async function forgetPositions(store: Pick<Store, 'settings' | 'transaction'>): Promise<void> {
  if ((await store.settings.get<StoredPositions>(positionsName)) !== null) await writePositions(store, {})
}

function writePositions(store: Pick<Store, 'transaction'>, positions: StoredPositions): Promise<void> {
  return store.transaction((tx) => tx.settings.set(positionsName, positions))
}
