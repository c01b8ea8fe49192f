import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { type MetricPoint, type MetricStep, mergePoints, metricSteps, rollUp } from '@stackquay/domain'
import { SqliteFile } from './dialect.ts'
import { StoreUnusableError } from './errors.ts'
import { packPoints, unpackPoints } from './metrics-block.ts'
import { explain, explainFileError } from './sqlite-errors.ts'

/** A workload of a project; an empty name stands for the project as a whole. */
export interface SeriesName {
  readonly project: string
  readonly workload: string
}

/**
 * The history of metrics: a file of its own, so that what is written each minute makes no backup of the instance larger and waits for no
 * transaction. Minutes of the running hour are rows in the order of time; each hour that is over is packed into blocks.
 */
export interface MetricsFile {
  /** Writes points of one minute. Those of a minute that is there already take their place. */
  write(points: readonly (SeriesName & MetricPoint)[]): void
  /** Points of a step in a time, `from` included and `to` not, by workload. */
  read(project: string, wanted: MetricsWanted): Promise<ReadonlyMap<string, readonly MetricPoint[]>>
  /** Packs hours that ended before `now` (seconds), a few series at a time. Killed in between, the next call goes on. */
  pack(now: number): Promise<void>
  /** Drops what is older than is kept, or than so many days, and series that have nothing left. */
  prune(now: number, days?: number): void
  forget(project: string): void
  projects(): readonly string[]
  /** Of all that it lies in. */
  bytes(): number
  close(): void
}

export interface MetricsWanted {
  readonly step: MetricStep
  readonly from: number
  readonly to: number
  /** All unless given. */
  readonly workload?: string | undefined
}

/** More are not written: names of workloads that come and go must not fill a disk. */
const mostSeries = 10_000
const mostLookUps = 2_000
const schemaVersion = 1
const hour = 3_600
const day = 24 * hour
/** So many series are packed in one transaction and one turn of the event loop. */
const together = 10

/** `mostPages`: for tests of a disk that is full. Throws `StoreUnusableError` when the file is damaged, of another program or of a newer version. */
export function openMetricsFile(path: string, { mostPages }: { readonly mostPages?: number } = {}): MetricsFile {
  try {
    closeSync(openSync(path, 'a', 0o600))
    chmodSync(path, 0o600)
  } catch (error) {
    throw explainFileError(error, path)
  }
  const file = new SqliteFile(path, new DatabaseSync(path, { timeout: 1_000 }))
  try {
    prepare(file)
    if (mostPages !== undefined) file.say(`PRAGMA max_page_count = ${mostPages}`)
    return metricsOver(file)
  } catch (error) {
    file.close()
    throw explain(error, path)
  }
}

function prepare(file: SqliteFile): void {
  file.say('PRAGMA journal_mode = WAL')
  // After a loss of power the last minutes may be missing; nothing else can be.
  file.say('PRAGMA synchronous = NORMAL')
  file.say('PRAGMA cache_size = -512')
  file.say('PRAGMA journal_size_limit = 4194304')
  const [{ user_version: found } = { user_version: 0 }] = file.all<{ user_version: number }>('PRAGMA user_version')
  if (found > schemaVersion) {
    throw new StoreUnusableError(
      `"${file.path}" is of a newer version of Stackquay. Start that version, or move the file away to begin the history of metrics anew.`,
    )
  }
  if (found === schemaVersion) return
  inTransaction(file, () => {
    file.say(
      'create table series (id integer primary key autoincrement, project text not null, workload text not null, unique (project, workload))',
    )
    file.say(
      'create table minutes (time integer not null, series integer not null, data blob not null, primary key (time, series)) without rowid',
    )
    file.say(
      'create table blocks (series integer not null, step integer not null, start integer not null, data blob not null, primary key (series, step, start)) without rowid',
    )
    file.say(`PRAGMA user_version = ${schemaVersion}`)
  })
}

function metricsOver(file: SqliteFile): MetricsFile {
  const series = seriesOf(file)
  return {
    write: (points) => {
      try {
        inTransaction(file, () => {
          for (const { time, values, ...name } of points) {
            const id = series.idOf(name)
            if (id === null) continue
            const data = packPoints([{ time, values }], 60)
            file.run('insert or replace into minutes (time, series, data) values (?, ?, ?)', [time, id, data])
          }
        })
      } catch (error) {
        // What was rolled back is not known.
        series.forget()
        throw error
      }
    },
    read: async (project, wanted) => {
      const found = new Map<string, readonly MetricPoint[]>()
      for (const { id, workload } of series.of(project)) {
        if (wanted.workload !== undefined && wanted.workload !== workload) continue
        found.set(workload, readSeries(file, id, wanted))
        await turn()
      }
      return found
    },
    pack: async (now) => {
      const before = now - (now % hour)
      for (;;) {
        const [oldest] = file.all<{ time: number }>('select min(time) as time from minutes where time < ?', [before])
        if (oldest?.time == null) return
        packSome(file, oldest.time, before)
        await turn()
      }
    },
    prune: (now, days = Number.POSITIVE_INFINITY) => {
      series.forget()
      inTransaction(file, () => pruneBlocks(file, now, days * day))
    },
    forget: (project) => {
      series.forget()
      inTransaction(file, () => {
        for (const { id } of series.of(project)) {
          file.run('delete from minutes where series = ?', [id])
          file.run('delete from blocks where series = ?', [id])
        }
        file.run('delete from series where project = ?', [project])
      })
    },
    projects: () => file.all<SeriesName>('select distinct project from series').map(({ project }) => project),
    bytes: () => ['', '-wal', '-shm'].reduce((sum, end) => sum + sizeOf(file.path + end), 0),
    close: () => {
      try {
        file.say('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch {
        // The write-ahead log keeps the rest; the next opening finds it.
      }
      file.close()
    },
  }
}

/** Numbers of series. Those that are written each minute are remembered. */
function seriesOf(file: SqliteFile) {
  const known = new Map<string, number>()
  const find = ({ project, workload }: SeriesName) =>
    file.all<{ id: number }>('select id from series where project = ? and workload = ?', [project, workload])[0]?.id
  return {
    /** Made when it is new; null when there are as many as there may be. */
    idOf(name: SeriesName): number | null {
      const key = `${name.project}/${name.workload}`
      let id = known.get(key) ?? find(name)
      if (id === undefined) {
        const [{ count } = { count: 0 }] = file.all<{ count: number }>('select count(*) as count from series')
        if (count >= mostSeries) return null
        file.run('insert into series (project, workload) values (?, ?)', [name.project, name.workload])
        id = find(name)
      }
      if (id !== undefined) known.set(key, id)
      return id ?? null
    },
    of: (project: string) =>
      file.all<{ id: number; workload: string }>(
        'select id, workload from series where project = ? order by workload',
        [project],
      ),
    forget: () => known.clear(),
  }
}

function pruneBlocks(file: SqliteFile, now: number, most: number): void {
  for (const { id } of file.all<{ id: number }>('select id from series')) {
    for (const { step, block, kept } of metricSteps)
      file.run('delete from blocks where series = ? and step = ? and start < ?', [
        id,
        step,
        now - Math.min(kept, most) - block,
      ])
  }
  file.run(
    'delete from series where not exists (select 1 from blocks where series = id) and id not in (select series from minutes)',
  )
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function readSeries(file: SqliteFile, series: number, { step, from, to }: MetricsWanted): readonly MetricPoint[] {
  const { block } = stepOf(step)
  const first = from - (from % step)
  const packed = file
    .all<{ data: Uint8Array }>(
      'select data from blocks where series = ? and step = ? and start > ? and start < ? order by start',
      [series, step, first - block, to],
    )
    .flatMap(({ data }) => unpackPoints(data, step))
  const recent = readRecent(file, series, { step, from: first, to })
  const all = recent.length === 0 ? packed : mergePoints(packed, recent)
  return all.filter(({ time }) => time >= first && time < to)
}

/** Points of which something is not packed yet. */
function readRecent(file: SqliteFile, series: number, { step, from, to }: MetricsWanted): readonly MetricPoint[] {
  const minutes = pendingMinutes(file, series, from, to)
  const [oldest] = minutes
  const source = stepOf(step).from
  if (oldest === undefined || source === null) return minutes
  // A long point may have hours that are packed beside the one that is not.
  const begin = oldest.time - (oldest.time % step)
  return rollUp(source === 60 ? minutes : readSeries(file, series, { step: source, from: begin, to }), step)
}

/** Minutes lie in the order of time, all series of one beside each other: each is looked up, instead of reading over those of all others. */
function pendingMinutes(file: SqliteFile, series: number, from: number, to: number): readonly MetricPoint[] {
  const edge = (which: 'min' | 'max') =>
    file.all<{ time: number | null }>(`select ${which}(time) as time from minutes where time >= ? and time < ?`, [
      from,
      to,
    ])[0]?.time ?? null
  const [first, last] = [edge('min'), edge('max')]
  if (first === null || last === null) return []
  // Of a clock that was set, there may be years in between.
  const isSparse = (last - first) / 60 > mostLookUps
  const times = isSparse
    ? file
        .all<{ time: number }>('select time from minutes where time >= ? and time < ? and series = ?', [
          from,
          to,
          series,
        ])
        .map(({ time }) => time)
    : Array.from({ length: (last - first) / 60 + 1 }, (_, index) => first + 60 * index)
  return times.flatMap((time) =>
    file
      .all<{ data: Uint8Array }>('select data from minutes where time = ? and series = ?', [time, series])
      .flatMap(({ data }) => unpackPoints(data, 60)),
  )
}

function stepOf(wanted: MetricStep) {
  return metricSteps.find(({ step }) => step === wanted)!
}

/** Some series of a day, as far as it is over: their minutes go into blocks, and what these add up to into those of longer steps. */
function packSome(file: SqliteFile, from: number, before: number): void {
  const to = Math.min(before, from - (from % day) + day)
  inTransaction(file, () => {
    const rows = file.all<{ series: number }>(
      'select distinct series from minutes where time >= ? and time < ? order by series limit ?',
      [from, to, together],
    )
    for (const { series } of rows) {
      const added = pendingMinutes(file, series, from, to)
      const minutes = mergeAll(file, series, 60, added)
      mergeAll(file, series, 300, rollUp(minutes, 300))
      const hours = mergeAll(file, series, 3_600, rollUp(minutes, 3_600))
      mergeAll(file, series, 21_600, rollUp(hours, 21_600))
      for (const { time } of added) file.run('delete from minutes where time = ? and series = ?', [time, series])
    }
  })
}

/** Answers all points of the blocks that it changed. */
function mergeAll(
  file: SqliteFile,
  series: number,
  step: MetricStep,
  points: readonly MetricPoint[],
): readonly MetricPoint[] {
  const { block } = stepOf(step)
  const blocks = Map.groupBy(points, ({ time }) => time - (time % block))
  return [...blocks].flatMap(([start, added]) => mergeInto(file, series, { step, start }, added))
}

function mergeInto(
  file: SqliteFile,
  series: number,
  { step, start }: { readonly step: MetricStep; readonly start: number },
  points: readonly MetricPoint[],
): readonly MetricPoint[] {
  const key = [series, step, start]
  const [row] = file.all<{ data: Uint8Array }>(
    'select data from blocks where series = ? and step = ? and start = ?',
    key,
  )
  const merged = row === undefined ? points : mergePoints(unpackPoints(row.data, step), points)
  const data = packPoints(merged, step)
  file.run('insert or replace into blocks (series, step, start, data) values (?, ?, ?, ?)', [...key, data])
  return merged
}

/** Either all of it or nothing, also when the disk is full: then SQLite has rolled back by itself. */
function inTransaction<T>(file: SqliteFile, act: () => T): T {
  try {
    file.say('begin immediate')
    const result = act()
    file.say('commit')
    return result
  } catch (error) {
    if (file.inTransaction) file.say('rollback')
    throw explain(error, file.path)
  }
}
