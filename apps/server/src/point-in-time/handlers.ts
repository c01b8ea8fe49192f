import type { PointInTime } from '@stackquay/contract'
import { databaseWorkload, isArchiveLate, type RestorableRange } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { SnapshotDeps } from '../snapshots/snapshot-handlers.ts'
import { type LookDeps, lookAtArchives, rangesOf, type SeenArchive } from './look-at-archives.ts'
import { requireKind } from './require-kind.ts'
import { restoreToHandler } from './restore-to-handler.ts'

export interface PointInTimeDeps extends SnapshotDeps, Pick<LookDeps, 'reveal'> {}

/** What can be restored of a database, and making another one as it was at a moment. */
export function pointInTimeHandlers(
  deps: PointInTimeDeps,
  answers: ProjectAnswers,
): Pick<Handlers, 'getPointInTime' | 'restoreDatabaseTo'> {
  return {
    getPointInTime: async ({ params }, { signal }) => {
      const row = await answers.find(params.id)
      requireKind(row, params.db)
      const [seen, sizes] = await Promise.all([
        lookAtArchives(row, params.db, deps, signal),
        deps.engine.data(row.id, signal),
      ])
      const bytes = bytesOf(seen, new Map(sizes.map(({ name, sizeBytes }) => [name, sizeBytes])))
      return { status: 200, body: viewOf(row, params.db, seen, bytes, deps.now()) }
    },
    ...restoreToHandler(deps, answers),
  }
}

export function rangeView({ from, to }: RestorableRange): PointInTime['ranges'][number] {
  return { from: from.toISOString(), to: to.toISOString() }
}

/** Of archives and bases; blocks that a base shares with the data count too. */
function bytesOf(seen: readonly SeenArchive[], sizes: ReadonlyMap<string, number>): number {
  const names = seen.flatMap(({ row, known }) => [row.id, ...known.bases.map(({ id }) => id)])
  return names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0)
}

function viewOf(
  { spec }: ProjectRow,
  name: string,
  seen: readonly SeenArchive[],
  bytes: number,
  now: Date,
): PointInTime {
  const settings = spec.databases[name]
  const open = seen.find(({ row }) => row.endedAt === null)
  const look = open?.look ?? { waiting: 0, waitingSince: null }
  const ranges = rangesOf(seen)
  const isOn = settings?.pointInTime !== undefined
  const begun = ranges.some(({ archive }) => archive === open?.row.id)
  return {
    database: name,
    workload: databaseWorkload(settings?.type ?? '', name),
    keep: settings?.pointInTime?.keep ?? null,
    state: !isOn ? 'off' : isArchiveLate(look, now) ? 'late' : begun ? 'ready' : 'starting',
    ranges: ranges.map(rangeView),
    bases: seen.reduce((sum, { known }) => sum + known.bases.length, 0),
    bytes,
    waiting: look.waiting,
    waitingSince: look.waitingSince,
  }
}
