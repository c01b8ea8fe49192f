import { databaseTypeOf } from '@stackquay/catalog'
import { type DatabaseSpec, databaseSecret, databaseWorkload, secretsOfService } from '@stackquay/domain'
import type { Store } from '@stackquay/store'

/** What goes, to the trash or for good; empty for most changes. */
export interface Removal {
  readonly deleteData: readonly string[]
  readonly deleteSecrets: readonly string[]
  readonly releasePorts: readonly string[]
  /** Ids of snapshots of that data, which go with it. */
  readonly deleteSnapshots?: readonly string[]
  /** Ids of archives of its changes, which go with it too. */
  readonly deleteArchives?: readonly string[]
  /** A database that is dropped, as the settings had it; null when they had none of the name any more. */
  readonly database?: { readonly name: string; readonly data: string; readonly settings: DatabaseSpec | null }
  /** Past the trash. */
  readonly purge?: boolean
}

/** Data goes with the secrets that open it; of a database also its ports, since nothing of it stays. */
export function removalOf(
  services: readonly string[],
  database: { readonly name: string; readonly type: string; readonly settings: DatabaseSpec | null } | undefined,
): Removal {
  const removal = {
    deleteData: [...services],
    deleteSecrets: services.flatMap(secretsOfService),
    releasePorts: [] as string[],
  }
  if (database === undefined) return removal
  const workload = databaseWorkload(database.type, database.name)
  removal.deleteData.push(workload)
  removal.releasePorts.push(workload)
  for (const secret of databaseTypeOf(database.type)?.secrets ?? [])
    removal.deleteSecrets.push(databaseSecret(database.name, secret.name))
  return { ...removal, database: { name: database.name, data: workload, settings: database.settings } }
}

/** With snapshots and archives of the data that goes. */
export async function withSnapshots(
  project: string,
  removal: Removal,
  { snapshots, archives }: Pick<Store, 'snapshots' | 'archives'>,
): Promise<Removal> {
  if (removal.deleteData.length === 0) return removal
  const idsOf = (known: readonly { readonly id: string; readonly data: string }[]) =>
    known.filter(({ data }) => removal.deleteData.includes(data)).map(({ id }) => id)
  const [deleteSnapshots, deleteArchives] = [idsOf(await snapshots.of(project)), idsOf(await archives.of(project))]
  return {
    ...removal,
    ...(deleteSnapshots.length === 0 ? {} : { deleteSnapshots }),
    ...(deleteArchives.length === 0 ? {} : { deleteArchives }),
  }
}

/** Names of all kept data that goes. */
export function doomedData({
  deleteData,
  deleteSnapshots = [],
  deleteArchives = [],
}: Pick<Removal, 'deleteData' | 'deleteSnapshots' | 'deleteArchives'>): readonly string[] {
  return [...deleteData, ...deleteSnapshots, ...deleteArchives]
}
