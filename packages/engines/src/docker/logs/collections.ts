import type { WorkloadRef } from '@stackquay/engine-api'
import { logsDir } from '../../native/home.ts'
import { withLockFile } from '../../native/lock.ts'
import type { LogKeeper } from '../../native/log-retention.ts'
import type { Daemon } from '../daemon.ts'
import { collect, type Printer } from './collect.ts'
import { collectorLock } from './collector-state.ts'

/** The containers whose output is stored as it comes, one for each workload. */
export interface Collections {
  /** Goes on with the last run of a workload, unless that is under way already. */
  begin(ref: WorkloadRef): Collection
  /** How jobs write into the log of the workload's run; null while it is not open. */
  printer(ref: WorkloadRef): Printer | null
  /** Resolves when they have stopped. What the containers print meanwhile waits in Docker. */
  stop(which: (ref: WorkloadRef) => boolean): Promise<void>
  /** Resolves when all have ended; the signal has aborted by then. */
  ended(): Promise<void>
}

export interface Collection {
  readonly ref: WorkloadRef
  readonly ended: Promise<void>
  printer: Printer | null
  stop(): void
}

export function createCollections(daemon: Daemon, keeper: LogKeeper, closing: AbortSignal): Collections {
  const { home, table } = daemon
  const collections = new Map<string, Collection>()
  const endOf = async (some: readonly Collection[]) => {
    await Promise.all(some.map(({ ended }) => ended))
  }

  return {
    /** Of several instances over one home one collects; the others wait in case it ends before the container does. */
    begin(ref) {
      const key = logsDir(home, ref)
      const known = collections.get(key)
      if (known !== undefined) return known
      const stopping = new AbortController()
      const signal = AbortSignal.any([closing, stopping.signal])
      const ended = withLockFile(table, collectorLock(home, ref), signal, () =>
        collect(daemon, keeper, ref, signal, (printer) => {
          collection.printer = printer
        }),
      )
        .catch(() => {})
        .finally(() => {
          if (collections.get(key) === collection) collections.delete(key)
        })
      const collection: Collection = { ref, ended, printer: null, stop: () => stopping.abort() }
      collections.set(key, collection)
      return collection
    },
    printer: (ref) => collections.get(logsDir(home, ref))?.printer ?? null,
    async stop(which) {
      const stopped = [...collections.values()].filter(({ ref }) => which(ref))
      for (const one of stopped) one.stop()
      await endOf(stopped)
    },
    ended: () => endOf([...collections.values()]),
  }
}
