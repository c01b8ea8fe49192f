import type { ArchiveLook, ArchiveRun } from '@stackquay/catalog'

const prefix = 'arc_'
const dayMs = 24 * 60 * 60 * 1000

/** An archive is kept data of its project, by its id. */
export function isArchiveData(data: string): boolean {
  return data.startsWith(prefix)
}

/** `7d`, as it is written in settings. */
export function keepText(keepDays: number): string {
  return `${keepDays}d`
}

/** Of a text that is one. */
export function keepDaysOf(keep: string): number {
  return Number.parseInt(keep, 10)
}

/** A copy of the data, from which on the changes are played back. */
export interface ArchiveBase {
  readonly id: string
  /** When it was whole, RFC 3339: nothing before it can be restored from it. */
  readonly createdAt: string
  /** The first piece of the log that it needs. */
  readonly piece: string
  readonly method: 'copy-on-write' | 'copy'
}

export interface KnownArchive {
  readonly id: string
  readonly endedAt: string | null
  readonly keepDays: number
  /** In any order. */
  readonly bases: readonly ArchiveBase[]
}

/** Every moment between its ends can be restored. */
export interface RestorableRange {
  readonly archive: string
  /** Oldest first. */
  readonly bases: readonly ArchiveBase[]
  readonly from: Date
  readonly to: Date
  /** The last piece of the log that there is. */
  readonly last: string
  /** The log goes on in the data itself. */
  readonly isLive: boolean
}

/** What was committed in the last moment of a piece may be in the next one. */
const doubtMs = 1000

/**
 * Pure: what can be restored of an archive, oldest first. A range begins with a base and ends before the first piece that is missing; where
 * none is, and the data has the newest one, it ends now.
 */
export function restorableRanges(
  { id, bases }: Pick<KnownArchive, 'id' | 'bases'>,
  { runs, newest }: Pick<ArchiveLook, 'runs' | 'newest'>,
  now: Date,
): readonly RestorableRange[] {
  return runs.flatMap((run) => {
    const its = byTime(bases.filter((base) => isIn(base, run)))
    const [first] = its
    if (first === undefined) return []
    const isLive = newest !== null && run.last >= newest
    const to = isLive ? now : new Date(Date.parse(run.endsAt) - doubtMs)
    const from = new Date(first.createdAt)
    return from < to ? [{ archive: id, bases: its, from, to, last: run.last, isLive }] : []
  })
}

/** Pure: from where the moment is restored: the newest base before it; null where it is in no range. */
export function baseFor(
  ranges: readonly RestorableRange[],
  moment: Date,
): { readonly range: RestorableRange; readonly base: ArchiveBase } | null {
  const range = ranges.find(({ from, to }) => from <= moment && moment <= to)
  const base = range?.bases.findLast(({ createdAt }) => Date.parse(createdAt) <= moment.getTime())
  return range === undefined || base === undefined ? null : { range, base }
}

/** Pure: whether a new base is to be made: there is none from which the log goes on without a gap, or the newest is old. */
export function needsBase(
  { bases, keepDays }: Pick<KnownArchive, 'bases' | 'keepDays'>,
  { runs }: Pick<ArchiveLook, 'runs'>,
  now: Date,
): boolean {
  const run = runs.at(-1)
  const newest = run === undefined ? undefined : byTime(bases.filter((base) => isIn(base, run))).at(-1)
  if (newest === undefined) return true
  return now.getTime() - Date.parse(newest.createdAt) >= baseEveryDays(newest.method, keepDays) * dayMs
}

/** One that shares its blocks takes hardly any room. Others are whole: about four of them are kept. */
function baseEveryDays(method: ArchiveBase['method'], keepDays: number): number {
  return method === 'copy-on-write' ? 1 : Math.max(1, Math.ceil(keepDays / 3))
}

/** Pure: bases that are not needed any more. The newest one that is older than what is kept is: what is kept begins in its time. */
export function spareBases(
  { bases, keepDays }: Pick<KnownArchive, 'bases' | 'keepDays'>,
  now: Date,
): readonly ArchiveBase[] {
  const keptFrom = now.getTime() - keepDays * dayMs
  const old = byTime(bases).filter(({ createdAt }) => Date.parse(createdAt) <= keptFrom)
  return old.slice(0, -1)
}

/** Pure: nothing of it is kept any more. */
export function isSpareArchive({ endedAt, keepDays }: Pick<KnownArchive, 'endedAt' | 'keepDays'>, now: Date): boolean {
  return endedAt !== null && Date.parse(endedAt) <= now.getTime() - keepDays * dayMs
}

/** Pure: the first piece of the log that any of these needs; null where there is none. */
export function firstPiece(bases: readonly ArchiveBase[]): string | null {
  return bases.map(({ piece }) => piece).sort()[0] ?? null
}

/** Since when pieces may wait before that is told: a piece is given away within seconds. */
const patienceMs = 2 * 60 * 1000

export function isArchiveLate(
  { waiting, waitingSince }: Pick<ArchiveLook, 'waiting' | 'waitingSince'>,
  now: Date,
): boolean {
  return waiting > 0 && (waitingSince === null || now.getTime() - Date.parse(waitingSince) >= patienceMs)
}

function isIn({ piece }: ArchiveBase, { first, last }: ArchiveRun): boolean {
  return first <= piece && piece <= last
}

function byTime(bases: readonly ArchiveBase[]): readonly ArchiveBase[] {
  return bases.toSorted((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt))
}
