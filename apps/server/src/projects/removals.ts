import type { Change } from '@stackquay/engine-api'
import { dataTitle, type NamedSnapshot } from './data-title.ts'

/** Of all changes those that end what uses this data, and then the deletion of it. */
export function removalsOf(
  changes: readonly Change[],
  project: string,
  doomed: readonly string[],
  snapshots: readonly NamedSnapshot[],
): readonly Change[] {
  const ends = changes.filter((change) => change.type === 'remove' && doomed.includes(change.ref.workload))
  return [...ends, ...deletions(project, doomed, snapshots)]
}

export function deletions(
  project: string,
  doomed: readonly string[],
  snapshots: readonly NamedSnapshot[],
): readonly Change[] {
  return doomed.map((data) => ({ type: 'deleteData', project, data, title: dataTitle(data, snapshots) }))
}
