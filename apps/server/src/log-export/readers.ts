import type { LogOptions } from '@stackquay/engine-api'
import type { LogExportDeps } from './keeper.ts'
import type { QueuedLine } from './line-queue.ts'
import type { Positions } from './positions.ts'

/** Where lines go. */
export interface Drain {
  /** Resolves when a line may come, or the signal aborts. */
  room(signal: AbortSignal): Promise<void>
  push(line: QueuedLine): void
}

/** One reader for each workload whose lines are sent; a quiet one costs a watch of its folder. */
export interface Readers {
  /** Begins with workloads that are there by now, and ends with those that are not. */
  renew(): void
  close(): Promise<void>
}

interface Reader {
  readonly project: string
  readonly workload: string
  readonly stop: AbortController
  /** Of the last line that was read; what is in the queue is not read again. */
  cursor: string | null
  /** When it begins again after a failure; null while it reads. */
  againAt: number | null
  done: Promise<void>
}

const againMs = 5000

export function createReaders(
  { engine, model, config, now, onError }: LogExportDeps,
  positions: Positions,
  drain: Drain,
): Readers {
  const readers = new Map<string, Reader>()
  const openedAt = now().toISOString()

  const read = async (reader: Reader) => {
    const { project, workload, stop } = reader
    const options: LogOptions = { ...startOf(reader, positions), follow: true }
    try {
      for await (const { lines } of engine.logBatches({ project, workload }, options, stop.signal)) {
        for (const { time, stream, text, cursor } of lines) {
          await drain.room(stop.signal)
          const slug = model.find(project)?.row.slug
          if (stop.signal.aborted || slug === undefined) return
          reader.cursor = cursor
          drain.push({ project: slug, projectId: project, workload, time: Date.parse(time), stream, text, cursor })
        }
      }
    } catch (error) {
      if (!stop.signal.aborted) onError(error, `reading the log of ${workload} to send it`)
    }
    reader.againAt = performance.now() + againMs
  }

  const begin = (key: string, project: string, workload: string) => {
    const known = readers.get(key)
    if (known !== undefined && (known.againAt === null || known.againAt > performance.now())) return
    const cursor = known?.cursor ?? positions.of(project)?.cursors[workload] ?? null
    const reader = { project, workload, cursor, stop: new AbortController(), againAt: null, done: Promise.resolve() }
    readers.set(key, reader)
    reader.done = read(reader)
  }

  return {
    renew: () => {
      const wanted = new Set<string>()
      const projects = new Set<string>()
      for (const { row, resolved } of model.all()) {
        const { projects: chosen } = config.logExport
        if (chosen.length > 0 && !chosen.includes(row.slug)) continue
        projects.add(row.id)
        // Of a project that comes later nothing is missed; of one that was there, its past is not sent.
        if (positions.of(row.id) === null)
          positions.begin(row.id, row.createdAt > openedAt ? row.createdAt : now().toISOString())
        for (const { ref } of resolved.workloads) {
          const key = `${row.id}/${ref.workload}`
          wanted.add(key)
          begin(key, row.id, ref.workload)
        }
      }
      positions.keepOnly(projects)
      for (const [key, { stop }] of readers) {
        if (wanted.has(key)) continue
        stop.abort()
        readers.delete(key)
      }
    },
    close: async () => {
      const all = [...readers.values()]
      for (const { stop } of all) stop.abort()
      await Promise.all(all.map(({ done }) => done))
    },
  }
}

function startOf({ project, cursor }: Reader, positions: Positions): LogOptions {
  if (cursor !== null) return { after: cursor }
  const since = positions.of(project)?.since
  return since === undefined ? {} : { since }
}
