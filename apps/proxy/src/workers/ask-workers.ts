import { log } from '../log.ts'
import { joinUses, type UseOfProject } from '../project-use.ts'
import type { Flights } from '../upstream/pool.ts'
import type { Order, WorkerCounts } from './messages.ts'
import type { PoolWorker } from './pool-worker.ts'

/** For questions whose answer is only good to know. */
const countWithin = 500

export type TableOrder = Extract<Order, { kind: 'use' | 'change' | 'certificates' }>

/** One that does not take it in time is ended; another takes its place. */
export async function sendTable(worker: PoolWorker, order: TableOrder, within: number): Promise<void> {
  // One that does not listen yet reads its orders one after the other: this one before the one to listen.
  const isListening = worker.isListening
  const used = worker.ask(order, within)
  if (!isListening) {
    used.catch(() => {})
    return
  }
  try {
    await used
  } catch {
    log('a worker did not take what is new and is replaced', { pid: worker.pid, order: order.kind })
    await worker.kill()
  }
}

/** The sum of all, and of those that have ended. */
export async function countAll(workers: readonly PoolWorker[], past: PastCounts): Promise<WorkerCounts> {
  const all = await Promise.all(
    workers.map((worker) => worker.ask({ kind: 'count' }, countWithin).catch(() => worker.lastCounts)),
  )
  return all.reduce(
    (sum, one) => ({
      requests: sum.requests + one.requests,
      connections: sum.connections + one.connections,
      tunnels: sum.tunnels + one.tunnels,
      held: sum.held + one.held,
      dropped: sum.dropped + one.dropped,
    }),
    { ...past, connections: 0, tunnels: 0, held: 0 },
  )
}

/** What is left of the counts of a worker that has ended. */
export type PastCounts = Pick<WorkerCounts, 'requests' | 'dropped'>

/** A worker that does not answer may have requests: a caller that waits for the end of all must not read zero. */
export async function flightsOfAll(
  workers: readonly PoolWorker[],
  host: string,
  port: number,
  within: number,
): Promise<Flights> {
  const all = await Promise.all(
    workers.map((worker) => worker.ask({ kind: 'flights', host, port }, within).catch(unknown(worker))),
  )
  return all.reduce((sum, one) => ({ requests: sum.requests + one.requests, tunnels: sum.tunnels + one.tunnels }), {
    requests: 0,
    tunnels: 0,
  })
}

/** Of those that answer in time: what another one served is told the next time. */
export async function usesOfAll(workers: readonly PoolWorker[]): Promise<readonly UseOfProject[]> {
  return joinUses(await Promise.all(workers.map((worker) => worker.ask({ kind: 'uses' }, countWithin).catch(() => []))))
}

function unknown(worker: PoolWorker): () => Flights {
  return () => ({ requests: worker.isListening ? 1 : 0, tunnels: 0 })
}
