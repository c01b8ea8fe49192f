import type { Commands } from './control-socket.ts'
import { type RouteChanges, withChanges } from './route-changes.ts'
import type { RouteTable } from './route-table.ts'
import { writeJson } from './state-files.ts'
import type { Serving } from './workers/serving.ts'
import type { WorkerPool } from './workers/worker-pool.ts'

/** One after the other: the last table asked for is the one in use and the one on disk. */
export function routeSwitch(
  serving: Serving,
  pool: WorkerPool,
  path: string,
): Pick<Commands, 'replaceRoutes' | 'changeRoutes'> {
  let last: Promise<unknown> = Promise.resolve()
  const inOrder = (act: () => Promise<void>): Promise<void> => {
    const next = last.then(act)
    last = next.catch(() => {})
    return next
  }
  const use = async (table: RouteTable, usedByPool: () => Promise<void>) => {
    // Here first: a worker that starts now gets it from here.
    const used = serving.use(table)
    await Promise.all([used, usedByPool()])
    await writeJson(path, table)
  }
  return {
    replaceRoutes: (table) => inOrder(() => use(table, () => pool.use(table))),
    changeRoutes: (changes: RouteChanges) =>
      inOrder(() => use(withChanges(serving.table, changes), () => pool.change(changes))),
  }
}
