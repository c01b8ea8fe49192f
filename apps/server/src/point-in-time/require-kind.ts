import { databaseTypeOf } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { snapshotSubject } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'

/** Throws `not_found`, and `engine_cannot` for a type that keeps no changes. */
export function requireKind(row: ProjectRow, name: string): void {
  const subject = snapshotSubject(row.spec, name)
  if (subject === null) throw new ProblemError('not_found', `There is no database "${name}".`)
  if (subject.kind === 'database' && databaseTypeOf(subject.type)?.pointInTime !== undefined) return
  throw new ProblemError('engine_cannot', `${subject.title} cannot be restored to a moment here.`, {
    hint: 'Use its snapshots and backups.',
  })
}
