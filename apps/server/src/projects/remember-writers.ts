import { serviceTypesOf } from '@stackquay/domain'
import type { Workload } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'

/** Which versions are about to write: before each start of one of these, also of one that is started again by itself. */
export async function rememberWriters(
  { row }: { readonly row: ProjectRow },
  starting: readonly Pick<Workload, 'ref'>[],
  store: Store,
): Promise<void> {
  const running = new Set(starting.map((workload) => workload.ref.workload))
  const kept = await store.keptData.of(row.id)
  const writers = serviceTypesOf(row.spec).flatMap((kind) => {
    const version = row.spec.services[kind.name]?.version
    if (!kind.keepsData || version === undefined || !running.has(kind.name)) return []
    return kept.some((one) => one.name === kind.name && one.version === version) ? [] : [{ name: kind.name, version }]
  })
  if (writers.length === 0) return
  await store.transaction(async (tx) => {
    for (const { name, version } of writers) await tx.keptData.writtenBy(row.id, name, version)
  })
}
