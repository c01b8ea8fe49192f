import { existsSync, renameSync, rmSync } from 'node:fs'
import type { MetricPoint } from '@stackquay/domain'
import {
  type MetricsFile,
  type MetricsWanted,
  openMetricsFile,
  type SeriesName,
  StoreBusyError,
  StoreFullError,
} from '@stackquay/store'

/** The file of the history, opened when something is to be written or read. What happens to it stops nothing else. */
export interface History {
  write(points: readonly (SeriesName & MetricPoint)[]): void
  read(project: string, wanted: MetricsWanted): Promise<ReadonlyMap<string, readonly MetricPoint[]>>
  /** Packs what is over; drops what is too old, if told, and all of projects that are not known. */
  tidy(options: {
    readonly now: number
    readonly drop: boolean
    readonly isKnown: ((id: string) => boolean) | null
  }): Promise<void>
  state(): HistoryState
  close(): void
}

export interface HistoryState {
  /** 0 when nothing was ever written. */
  readonly bytes: number
  /** Why nothing is written at present; null when all is well. */
  readonly fault: string | null
  /** Where a damaged file was put; null when there is none. */
  readonly damaged: string | null
}

/** `days`: how far it goes back. */
export function openHistory(
  path: string,
  onError: (error: unknown, what: string) => void,
  days: () => number = () => Number.POSITIVE_INFINITY,
): History {
  const aside = `${path}.damaged`
  let file: MetricsFile | null = null
  let fault: string | null = null

  const opened = (): MetricsFile => {
    file ??= openMetricsFile(path)
    return file
  }
  const failed = (error: unknown): void => {
    const text = error instanceof Error ? error.message : String(error)
    // Once, not each minute.
    if (fault !== text) onError(error, 'writing the history of metrics')
    fault = text
    if (error instanceof StoreFullError || error instanceof StoreBusyError) return
    file?.close()
    file = null
    if (isDamaged(error)) setAside(path, aside)
  }

  return {
    write(points) {
      if (points.length === 0) return
      try {
        opened().write(points)
        fault = null
      } catch (error) {
        failed(error)
      }
    },
    async read(project, wanted) {
      if (file === null && !existsSync(path)) return new Map()
      try {
        return await opened().read(project, wanted)
      } catch (error) {
        failed(error)
        throw error
      }
    },
    async tidy({ now, drop, isKnown }) {
      if (file === null && !existsSync(path)) return
      try {
        await opened().pack(now)
        if (drop) opened().prune(now, days())
        for (const project of opened().projects()) if (isKnown?.(project) === false) opened().forget(project)
      } catch (error) {
        failed(error)
      }
    },
    state: () => ({ bytes: file?.bytes() ?? 0, fault, damaged: existsSync(aside) ? aside : null }),
    close() {
      file?.close()
      file = null
    },
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, under the words of the store; and blocks that do not read. */
function isDamaged(error: unknown): boolean {
  return error instanceof Error && / is damaged[:.]| is not a database|^This block of metrics /.test(error.message)
}

/** Numbers of before are no reason to do without those of now; the file is kept for those who want to look. */
function setAside(path: string, aside: string): void {
  try {
    rmSync(`${path}-wal`, { force: true })
    rmSync(`${path}-shm`, { force: true })
    renameSync(path, aside)
  } catch {
    // The next minute tries again.
  }
}
