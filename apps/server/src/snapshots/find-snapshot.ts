import { ProblemError, type Snapshot, type SnapshotSource } from '@stackquay/contract'
import { type SnapshotSubject, snapshotSubject } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { ProjectRow, SnapshotRow, Store } from '@stackquay/store'

/** Throws `not_found`. */
export function subjectOf({ slug, spec }: ProjectRow, name: string): SnapshotSubject {
  const subject = snapshotSubject(spec, name)
  if (subject !== null) return subject
  throw new ProblemError('not_found', `The project "${slug}" has no database and no service "${name}".`)
}

/** One that people see. Bases of archives are snapshots too, and nobody restores or deletes one by hand. */
export interface ShownSnapshot extends SnapshotRow {
  readonly source: SnapshotSource
}

/** Of this database, newest first. */
export async function snapshotsOf(
  row: ProjectRow,
  { data }: Pick<SnapshotSubject, 'data'>,
  { snapshots }: Pick<Store, 'snapshots'>,
): Promise<readonly ShownSnapshot[]> {
  const isShown = (one: SnapshotRow): one is ShownSnapshot => one.source !== 'base'
  return (await snapshots.of(row.id)).filter(isShown).filter((one) => one.data === data)
}

/** By id or name. Throws `not_found`. */
export async function findSnapshot(
  row: ProjectRow,
  subject: SnapshotSubject,
  wanted: string,
  store: Pick<Store, 'snapshots'>,
): Promise<ShownSnapshot> {
  const found = (await snapshotsOf(row, subject, store)).find(({ id, name }) => id === wanted || name === wanted)
  if (found !== undefined) return found
  throw new ProblemError('not_found', `There is no snapshot "${wanted}" of "${subject.name}".`)
}

/** Its row is there: a copy of its data must be too, which is not so after an older state of the service was restored. */
export async function requireSnapshotData(
  { id: project }: ProjectRow,
  { id, name }: SnapshotRow,
  engine: Engine,
  signal: AbortSignal,
): Promise<void> {
  if ((await engine.dataNames(project, signal)).includes(id)) return
  throw new ProblemError('engine_cannot', `The data of the snapshot "${name}" is gone.`, {
    hint: 'Delete the snapshot.',
  })
}

export function snapshotView(row: ShownSnapshot): Snapshot {
  const { id, database, name, source, type, version, method, bytes, milliseconds, createdAt } = row
  return { id, database, name, source, type, version, method, bytes, milliseconds, createdAt }
}
