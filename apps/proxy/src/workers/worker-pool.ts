import type { Server } from 'node:net'
import type { Lines } from '../access/line-page.ts'
import type { Redeem } from '../codes.ts'
import type { Limits } from '../limits.ts'
import { log } from '../log.ts'
import type { UseOfProject } from '../project-use.ts'
import type { RouteChanges } from '../route-changes.ts'
import type { RouteTable } from '../route-table.ts'
import type { GivenCertificates } from '../tls/front.ts'
import type { Flights } from '../upstream/pool.ts'
import type { WantedProjects } from '../wanted.ts'
import { countAll, flightsOfAll, type PastCounts, sendTable, type TableOrder, usesOfAll } from './ask-workers.ts'
import type { WorkerCounts } from './messages.ts'
import { type PoolWorker, startPoolWorker } from './pool-worker.ts'

/** The worker processes beside the main process. They accept from the same listening socket. */
export interface WorkerPool {
  /** How many are wanted. */
  readonly size: number
  readonly pids: readonly number[]
  /** One more, up to `most`. */
  grow(): void
  /** Resolves when no request can begin with another table any more, in any worker. */
  use(table: RouteTable): Promise<void>
  /** The same, when all have the base of these changes. */
  change(changes: RouteChanges): Promise<void>
  /** Resolves when every handshake is made with these, in every worker. */
  useCertificates(given: GivenCertificates): Promise<void>
  counts(): Promise<WorkerCounts>
  flights(host: string, port: number): Promise<Flights>
  uses(): Promise<readonly UseOfProject[]>
  /** Resolves when none of them accepts any more. */
  stop(): Promise<void>
  /** After `stop`: settles when all have ended. */
  ended(): Promise<void>
}

export interface WorkerPoolOptions {
  /** Listening. */
  readonly socket: Server
  /** The same of https; null: it is off. */
  readonly https: Server | null
  certificates(): GivenCertificates | null
  readonly limits: Limits
  /** The table that is in use. */
  readonly table: () => RouteTable
  readonly count: number
  readonly most: number
  record(lines: Lines): void
  readonly wanted: Pick<WantedProjects, 'report' | 'forget'>
  readonly redeem: Redeem
}

/** A worker that ended sooner than this has a fault that its successor may have too. */
const shortLife = 2_000
const longestPause = 10_000

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { socket, https, certificates, limits, table, count, most, record, wanted, redeem } = options
  const start = () => {
    const source = {}
    const tell = (project: string, isWanted: boolean) => wanted.report(source, project, isWanted)
    const worker = startPoolWorker({
      ...{ socket, https, certificates, limits, record, redeem },
      table: table(),
      wanted: tell,
    })
    void worker.ended.then(() => wanted.forget(source))
    return worker
  }
  const kept = keepWorkers(start, count, most)
  const all = () => [...kept.workers]
  const sendAll = async (order: TableOrder) => {
    await Promise.all(all().map((worker) => sendTable(worker, order, limits.tableWithin)))
  }

  return {
    get size() {
      return kept.size
    },
    get pids() {
      return all().flatMap(({ pid, isListening }) => (isListening && pid !== undefined ? [pid] : []))
    },
    grow: kept.grow,
    use: (next) => sendAll({ kind: 'use', table: next }),
    change: (changes) => sendAll({ kind: 'change', changes }),
    useCertificates: (given) => sendAll({ kind: 'certificates', given }),
    counts: () => countAll(all(), kept.past),
    flights: (host, port) => flightsOfAll(all(), host, port, limits.tableWithin),
    uses: () => usesOfAll(all()),
    async stop() {
      kept.stopStarting()
      await Promise.all(
        all().map(async (worker) => {
          if (!worker.isListening) return worker.kill()
          await worker.ask({ kind: 'stop' }, limits.tableWithin).catch(() => worker.kill())
        }),
      )
    },
    async ended() {
      const late = setTimeout(() => {
        for (const worker of kept.workers) void worker.kill()
      }, limits.drainWithin + 2_000)
      await Promise.all(all().map(({ ended }) => ended))
      clearTimeout(late)
    },
  }
}

interface KeptWorkers {
  readonly workers: ReadonlySet<PoolWorker>
  /** How many are wanted. */
  readonly size: number
  /** Of those that have ended. */
  readonly past: PastCounts
  grow(): void
  /** None is started any more, also not in place of one that ends. */
  stopStarting(): void
}

/** Starts so many workers; another takes the place of one that ends, after a pause when it ended soon. */
function keepWorkers(startWorker: () => PoolWorker, count: number, most: number): KeptWorkers {
  const workers = new Set<PoolWorker>()
  const restarts = new Set<NodeJS.Timeout>()
  let size = 0
  let stopping = false
  let pause = 0
  let past: PastCounts = { requests: 0, dropped: 0 }

  const start = (): void => {
    if (stopping) return
    const startedAt = performance.now()
    const worker = startWorker()
    workers.add(worker)
    worker.ready.then(
      () => log('worker started', { pid: worker.pid }),
      () => void worker.kill(),
    )
    void worker.ended.then(() => {
      workers.delete(worker)
      const { requests, dropped } = worker.lastCounts
      past = { requests: past.requests + requests, dropped: past.dropped + dropped }
      if (stopping) return
      pause = performance.now() - startedAt > shortLife ? 0 : Math.min(longestPause, Math.max(50, pause * 2))
      log('worker ended; another takes its place', { pid: worker.pid, in: pause })
      const timer = setTimeout(() => {
        restarts.delete(timer)
        start()
      }, pause)
      restarts.add(timer)
    })
  }
  const grow = () => {
    if (size >= most || stopping) return
    size += 1
    start()
  }
  for (let index = 0; index < count; index += 1) grow()

  return {
    workers,
    get size() {
      return size
    },
    get past() {
      return past
    },
    grow,
    stopStarting() {
      stopping = true
      for (const timer of restarts) clearTimeout(timer)
    },
  }
}
