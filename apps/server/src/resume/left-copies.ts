import { checkpointOfData, isCopiedData } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { Model } from '../projects/model.ts'

/** Data of snapshots, checkpoints and archives that were never whole, or whose deletion was cut off. What an operation goes on with stays. */
export async function removeLeftCopies({
  store,
  model,
  engine,
  onError,
}: {
  readonly store: Store
  readonly model: Pick<Model, 'all'>
  readonly engine: Engine
  onError(error: unknown, what: string): void
}): Promise<void> {
  for (const { row } of model.all()) {
    await removeOf(row.id, store, engine).catch((error: unknown) =>
      onError(error, `removing what is left of copies of ${row.slug}`),
    )
  }
}

async function removeOf(project: string, store: Store, engine: Engine): Promise<void> {
  const signal = AbortSignal.timeout(lookMs)
  const data = (await engine.dataNames(project, signal)).filter(isCopiedData)
  if (data.length === 0) return
  const [snapshots, checkpoints, archives, unfinished] = await Promise.all([
    store.snapshots.of(project),
    store.checkpoints.of(project),
    store.archives.of(project),
    store.operations.unfinishedOf(project),
  ])
  const known = new Set([...snapshots, ...checkpoints, ...archives].map(({ id }) => id))
  const held = JSON.stringify(unfinished.map(({ input }) => input))
  for (const name of data) {
    const id = checkpointOfData(name) ?? name
    if (known.has(id) || held.includes(id)) continue
    for (const step of engine.plan({ type: 'deleteData', project, data: name }))
      await engine.apply(step, { signal, output: () => undefined, reveal: async () => '' })
  }
}

const lookMs = 60_000
