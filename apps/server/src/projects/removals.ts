import type { Change } from '@stackquay/engine-api'

/** Of all changes those that end what uses this data, and then the deletion of it. */
export function removalsOf(changes: readonly Change[], project: string, doomed: readonly string[]): readonly Change[] {
  const ends = changes.filter((change) => change.type === 'remove' && doomed.includes(change.ref.workload))
  return [...ends, ...doomed.map((data): Change => ({ type: 'deleteData', project, data }))]
}
