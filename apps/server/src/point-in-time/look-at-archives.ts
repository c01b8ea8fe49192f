import type { ArchiveLook } from '@stackquay/catalog'
import {
  type ArchiveBase,
  type ArchivePrograms,
  databaseWorkload,
  type KnownArchive,
  type RestorableRange,
  restorableRanges,
} from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { ArchiveRow, ProjectRow, SnapshotRow, Store } from '@stackquay/store'
import type { ProgramDeps } from '../backups/data-programs.ts'
import type { Resolver } from '../projects/resolver.ts'
import { askArchive } from './archive-program.ts'

export interface LookDeps extends ProgramDeps {
  readonly store: Pick<Store, 'archives' | 'snapshots'>
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'archive'>
  readonly now: () => Date
}

/** An archive with what is in it. */
export interface SeenArchive {
  readonly row: ArchiveRow
  readonly known: KnownArchive
  /** Null where its program is not here: nothing is known of what is in it then. */
  readonly programs: ArchivePrograms | null
  readonly look: ArchiveLook
  readonly ranges: readonly RestorableRange[]
}

/** All archives of a database, oldest first; the last one may be the one that is written. */
export async function lookAtArchives(
  project: ProjectRow,
  database: string,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<readonly SeenArchive[]> {
  const { store, engine } = deps
  const settings = Object.hasOwn(project.spec.databases, database) ? project.spec.databases[database] : undefined
  const data = settings === undefined ? null : databaseWorkload(settings.type, database)
  // Of a database that went with a restore nothing can be done, but what is kept of it goes with its days.
  const rows = (await store.archives.of(project.id)).filter((one) =>
    data === null ? one.database === database : one.data === data,
  )
  if (rows.length === 0) return []
  const [snapshots, names] = await Promise.all([store.snapshots.of(project.id), engine.dataNames(project.id, signal)])
  const seen: SeenArchive[] = []
  for (const row of rows) {
    const copies = snapshots.filter(({ archive }) => archive === row.id)
    const known = { id: row.id, endedAt: row.endedAt, keepDays: row.keepDays, bases: copies.flatMap(baseOf) }
    // What was switched off is written no more, also before its end is noted.
    const isWritten = row.endedAt === null && settings?.pointInTime !== undefined
    const version = (isWritten ? null : copies[0]?.version) ?? settings?.version
    const programs =
      version === undefined || settings === undefined
        ? null
        : await deps.resolver.archive(project, { database, archive: row.id, version, isWritten })
    const isThere = names.includes(row.id) && (!isWritten || names.includes(row.data))
    const look = programs === null || !isThere ? nothing : await lookAt(project, programs, deps, signal)
    seen.push({ row, known, programs, look, ranges: restorableRanges(known, look, deps.now()) })
  }
  return seen
}

const nothing: ArchiveLook = { runs: [], newest: null, waiting: 0, waitingSince: null }

function lookAt({ id }: ProjectRow, { look, workload }: ArchivePrograms, deps: LookDeps, signal: AbortSignal) {
  const what = `Looking at what is kept of ${workload.title}`
  return askArchive<ArchiveLook>(look, { project: id, what, signal }, deps)
}

function baseOf({ id, createdAt, piece, method }: SnapshotRow): readonly ArchiveBase[] {
  return piece === null ? [] : [{ id, createdAt, piece, method }]
}

/** Of all archives, as people read them: oldest first. */
export function rangesOf(seen: readonly SeenArchive[]): readonly RestorableRange[] {
  return seen.flatMap(({ ranges }) => ranges).toSorted((one, other) => one.from.getTime() - other.from.getTime())
}
