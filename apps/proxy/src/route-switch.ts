import type { Commands } from './control-socket.ts'
import { type RouteChanges, withChanges } from './route-changes.ts'
import { routeFile } from './route-file.ts'
import type { RouteTable } from './route-table.ts'
import type { Serving } from './workers/serving.ts'
import type { WorkerPool } from './workers/worker-pool.ts'

/** One after the other: the last table asked for is the one in use and the one on disk. */
export function routeSwitch(
  serving: Serving,
  pool: WorkerPool,
  path: string,
): Pick<Commands, 'replaceRoutes' | 'changeRoutes'> {
  const file = routeFile(path)
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
  }
  return {
    replaceRoutes: (table) =>
      inOrder(async () => {
        await use(table, () => pool.use(table))
        await file.replace(table)
      }),
    changeRoutes: (changes: RouteChanges) =>
      inOrder(async () => {
        const table = withChanges(serving.table, changes)
        await use(table, () => pool.change(changes))
        await file.change(changes, table)
      }),
  }
}
