import { databaseTypes } from '@stackquay/catalog'
import { type DatabaseSpec, purgeTime } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { WorkStep } from '@stackquay/orchestrator'
import { newId, type ProjectOperation, type ProjectRow, type Store, type TrashItem } from '@stackquay/store'
import type { Config } from '../config.ts'
import { asideTitle, type NamedSnapshot } from '../projects/data-title.ts'

export interface TrashDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'asides' | 'data' | 'dataNames' | 'setDataAside' | 'putDataBack' | 'removeAside'>
  readonly config: Pick<Config, 'trashDays'>
  now(): Date
}

/** What an operation is to put into the trash. */
interface Doomed extends Pick<TrashItem, 'kind' | 'name'> {
  readonly data: readonly string[]
  readonly database?: DatabaseSpec | null
  /** Names of secrets that go with data; of a project, all do. */
  readonly secrets?: readonly string[]
}

/** The item of the operation, written down before anything moves. Begun again, the operation goes on with the same one. */
export async function itemOf(
  operation: ProjectOperation,
  row: ProjectRow,
  { kind, name, data, database = null, secrets = [] }: Doomed,
  { store, engine, config, now }: TrashDeps,
): Promise<TrashItem> {
  const begun = (await store.trash.ofOperation(operation.id)).find((one) => one.kind === kind && one.name === name)
  if (begun !== undefined) return begun
  const sizes = await sizesOf(row.id, data, engine)
  const at = now()
  return store.transaction((tx) =>
    tx.trash.add({
      id: newId('trs', at),
      kind,
      name,
      project: row.id,
      slug: row.slug,
      projectName: row.spec.name,
      engine: row.engine,
      operation: operation.id,
      data: data.map((one) => ({ name: one, sizeBytes: sizes.get(one) ?? null })),
      deletedAt: at.toISOString(),
      deletedBy: operation.actor,
      purgeAt: purgeTime(at, config.trashDays),
      database,
      secrets,
    }),
  )
}

/** How large it is, is worth a wait, and no failure: what cannot be measured can be moved. */
async function sizesOf(project: string, names: readonly string[], engine: Pick<Engine, 'data'>) {
  if (names.length === 0) return new Map<string, number>()
  const found = await engine.data(project, AbortSignal.timeout(measureMs)).catch(() => [])
  return new Map(found.map(({ name, sizeBytes }) => [name, sizeBytes]))
}

const measureMs = 60_000

/** Data of a database is named after its type and itself; data of a service like the service. */
export function kindOfData(data: string): 'service' | 'database' {
  return databaseTypes.some(({ name }) => data.startsWith(`${name}-`)) ? 'database' : 'service'
}

export function asideStep(
  { project, id }: TrashItem,
  data: string,
  { engine }: Pick<TrashDeps, 'engine'>,
  snapshots: readonly NamedSnapshot[] = [],
): WorkStep {
  return {
    id: `aside:${data}`,
    title: asideTitle(data, snapshots),
    run: ({ signal }) => engine.setDataAside(project, { name: data, key: id }, signal),
  }
}
