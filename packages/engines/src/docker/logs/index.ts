import { open, readdir } from 'node:fs/promises'
import type { LogBatch, LogLine, LogOptions, WorkloadRef } from '@stackquay/engine-api'
import { throwIfAborted } from '../../native/errors.ts'
import { flatten } from '../../native/flatten.ts'
import { isName, logsDir } from '../../native/home.ts'
import { withLockFile } from '../../native/lock.ts'
import { openForAppend, type Stream } from '../../native/log-files.ts'
import { recordLog } from '../../native/log-recorder.ts'
import { createLogKeeper, type LogLimits } from '../../native/log-retention.ts'
import { logBatches } from '../../native/logs.ts'
import { newLog } from '../../native/new-log.ts'
import { removeLogs } from '../../native/remove.ts'
import type { Daemon } from '../daemon.ts'
import { targetOf } from '../wire/target.ts'
import { collect, type Printer } from './collect.ts'
import { collectorLock, nothingYet, openState, readState } from './collector-state.ts'
import { phaseOf, timeBeforeStart } from './container-output.ts'

/** What containers printed, in files of our own, which outlive them. */
export interface DockerLogs {
  /** Begins the log of a new run. From here on, everything that the container prints is stored. */
  started(ref: WorkloadRef, container: string): Promise<void>
  /** Goes on with what was collected before this process began. */
  adopt(containers: readonly AdoptedContainer[]): Promise<void>
  /** While the workload runs, its jobs write into the run's log; otherwise each has a log of its own. */
  jobLog(ref: WorkloadRef): Promise<JobLog>
  /** Resolves when all that an ended container printed is stored. */
  drained(ref: WorkloadRef, signal: AbortSignal): Promise<void>
  /** The last lines, oldest first. */
  tail(ref: WorkloadRef, lines: number): Promise<string[]>
  logs(ref: WorkloadRef, options: LogOptions, signal: AbortSignal): AsyncIterable<LogLine>
  logBatches(ref: WorkloadRef, options: LogOptions, signal: AbortSignal): AsyncIterable<LogBatch>
  removeLogs(project: string): Promise<void>
  /** Ids of projects of which there are logs. */
  projects(): Promise<string[]>
  /** Stores what has come and stops. */
  close(): Promise<void>
}

export interface AdoptedContainer {
  readonly ref: WorkloadRef
  readonly id: string
}

/** What one job prints, for the log of its workload. */
export interface JobLog {
  write(stream: Stream, bytes: Buffer): Promise<void>
  close(): Promise<void>
}

const TIDY_EVERY_MS = 60 * 60 * 1000

interface Collection {
  readonly ref: WorkloadRef
  readonly ended: Promise<void>
  printer: Printer | null
  stop(): void
}

export function createDockerLogs(daemon: Daemon, limits: LogLimits): DockerLogs {
  const { home, table } = daemon
  const keeper = createLogKeeper(limits, () => daemon.now())
  const machine = { home, logs: keeper, now: () => daemon.now(), onlyIndexed: true }
  const closing = new AbortController()
  const collections = new Map<string, Collection>()

  /** Of several instances over one home one collects; the others wait in case it ends before the container does. */
  function collecting(ref: WorkloadRef): Collection {
    const key = logsDir(home, ref)
    const there = collections.get(key)
    if (there !== undefined) return there
    const stopping = new AbortController()
    const signal = AbortSignal.any([closing.signal, stopping.signal])
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
  }

  async function started(ref: WorkloadRef, container: string): Promise<void> {
    await stop((one) => logsDir(home, one) === logsDir(home, ref))
    await withLockFile(table, collectorLock(home, ref), closing.signal, async () => {
      const last = readState(home, ref)
      if (last !== null && last.container === container && !last.done) return
      // The log's id says when it began, and no line of it may be older.
      const begin = await timeBeforeStart(await targetOf(daemon.docker), container)
      const now = () => (begin === null ? daemon.now() : new Date(begin))
      const files = await newLog({ ...machine, now }, ref)
      for (const path of [files.err, files.out]) await (await open(path, 'a', 0o600)).close()
      const state = await openState(home, ref)
      // A container that is started again still holds what it printed before.
      const from = last?.container === container ? last : { stdout: nothingYet, stderr: nothingYet }
      state.write({
        number: (last?.number ?? 0) + 1,
        log: files.log,
        container,
        stdout: { ...from.stdout, size: 0 },
        stderr: { ...from.stderr, size: 0 },
        done: false,
      })
      state.close()
    })
    collecting(ref)
  }

  async function stop(which: (ref: WorkloadRef) => boolean): Promise<void> {
    const stopped = [...collections.values()].filter(({ ref }) => which(ref))
    for (const one of stopped) one.stop()
    await Promise.all(stopped.map(({ ended }) => ended))
  }

  const runsAgain = async (container: string) => (await phaseOf(await targetOf(daemon.docker), container)) === 'runs'

  const isLive = async (ref: WorkloadRef, log: string) => {
    const state = readState(home, ref)
    return state !== null && !state.done && state.log === log
  }
  const batches = (ref: WorkloadRef, options: LogOptions, signal: AbortSignal) =>
    logBatches(machine, ref, options, (log) => isLive(ref, log), AbortSignal.any([signal, closing.signal]))
  const logs = (ref: WorkloadRef, options: LogOptions, signal: AbortSignal) => flatten(batches(ref, options, signal))

  const tidy = () => void keeper.tidyAll(home.logs)
  tidy()
  const tidying = setInterval(tidy, TIDY_EVERY_MS).unref()

  return {
    started,
    async adopt(containers) {
      for (const { ref, id } of containers) {
        const state = readState(home, ref)
        if (state?.container === id && !state.done) collecting(ref)
        // Started without us: by a process that was killed right then, or by somebody else.
        else if (state?.container !== id || (await runsAgain(id))) await started(ref, id)
      }
    },
    async jobLog(ref) {
      const running = collections.get(logsDir(home, ref))?.printer
      if (running) return { write: (stream, bytes) => running.print(stream, bytes), close: async () => {} }
      const files = await newLog(machine, ref)
      const streams = await openForAppend(null, files)
      const recorder = await recordLog(files, machine)
      return {
        async write(stream, bytes) {
          await (stream === 'stdout' ? streams.out : streams.err).appendFile(bytes)
          await recorder.sample()
        },
        async close() {
          await recorder.close()
          await streams.close()
        },
      }
    },
    async drained(ref, signal) {
      const state = readState(home, ref)
      if (state === null || state.done) return
      const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => abort(), { once: true })
      if (signal.aborted) abort()
      await Promise.race([collecting(ref).ended, aborted])
      throwIfAborted(signal)
    },
    async tail(ref, lines) {
      const found: LogLine[] = await Array.fromAsync(logs(ref, { tail: lines }, closing.signal))
      return found.map((line) => line.text)
    },
    logs,
    logBatches: batches,
    async removeLogs(project) {
      await stop((ref) => ref.project === project)
      await removeLogs(machine, project)
    },
    projects: async () => (await readdir(home.logs)).filter(isName),
    async close() {
      closing.abort()
      clearInterval(tidying)
      await Promise.all([...collections.values()].map(({ ended }) => ended))
    },
  }
}
