import type { SnapshotRow } from '@stackquay/store'

export type NamedSnapshot = Pick<SnapshotRow, 'id' | 'name' | 'database'>

/** What kept data is called in titles of steps: a snapshot by the name that people gave it, not by its id. */
export function dataTitle(data: string, snapshots: readonly NamedSnapshot[]): string {
  const snapshot = snapshots.find(({ id }) => id === data)
  return snapshot === undefined ? `the data "${data}"` : `the snapshot "${snapshot.name}" of ${snapshot.database}`
}

/** Of a step that moves it to the trash, in plans and in operations. */
export function asideTitle(data: string, snapshots: readonly NamedSnapshot[]): string {
  return `Move ${dataTitle(data, snapshots)} to the trash`
}
