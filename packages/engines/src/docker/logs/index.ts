import { readdir } from 'node:fs/promises'
import type { LogBatch, LogLine, LogOptions, WorkloadRef } from '@stackquay/engine-api'
import { throwIfAborted } from '../../native/errors.ts'
import { flatten } from '../../native/flatten.ts'
import { isName, logsDir } from '../../native/home.ts'
import { createLogKeeper } from '../../native/log-retention.ts'
import { logBatches } from '../../native/logs.ts'
import { removeLogs } from '../../native/remove.ts'
import type { LogLimits } from '../../native/tidy-logs.ts'
import type { Daemon } from '../daemon.ts'
import { targetOf } from '../wire/target.ts'
import { beginLog } from './begin-log.ts'
import { createCollections } from './collections.ts'
import { readState } from './collector-state.ts'
import { phaseOf } from './container-output.ts'
import { type JobLog, openJobLog } from './job-log.ts'
import type { LogMachine } from './log-machine.ts'

/** The output of containers, in files of the service, which outlive them. */
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

const TIDY_EVERY_MS = 60 * 60 * 1000

export function createDockerLogs(daemon: Daemon, limits: LogLimits): DockerLogs {
  const { home } = daemon
  const keeper = createLogKeeper(limits, () => daemon.now())
  const machine: LogMachine = { home, logs: keeper, now: () => daemon.now(), onlyIndexed: true }
  const closing = new AbortController()
  const collections = createCollections(daemon, keeper, closing.signal)

  async function started(ref: WorkloadRef, container: string): Promise<void> {
    await collections.stop((one) => logsDir(home, one) === logsDir(home, ref))
    await beginLog(daemon, machine, ref, container, closing.signal)
    collections.begin(ref)
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
        if (state?.container === id && !state.done) collections.begin(ref)
        // Started by a process that was killed right then, or by hand.
        else if (state?.container !== id || (await runsAgain(id))) await started(ref, id)
      }
    },
    async jobLog(ref) {
      const running = collections.printer(ref)
      if (running !== null) return { write: (stream, bytes) => running.print(stream, bytes), close: async () => {} }
      return openJobLog(machine, ref)
    },
    async drained(ref, signal) {
      const state = readState(home, ref)
      if (state === null || state.done) return
      const { promise: aborted, resolve: abort } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => abort(), { once: true })
      if (signal.aborted) abort()
      await Promise.race([collections.begin(ref).ended, aborted])
      throwIfAborted(signal)
    },
    async tail(ref, lines) {
      const found: LogLine[] = await Array.fromAsync(logs(ref, { tail: lines }, closing.signal))
      return found.map((line) => line.text)
    },
    logs,
    logBatches: batches,
    async removeLogs(project) {
      await collections.stop((ref) => ref.project === project)
      await removeLogs(machine, project)
    },
    projects: async () => (await readdir(home.logs)).filter(isName),
    async close() {
      closing.abort()
      clearInterval(tidying)
      await collections.ended()
    },
  }
}
