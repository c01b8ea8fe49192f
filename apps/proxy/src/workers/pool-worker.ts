import { type ChildProcess, spawn } from 'node:child_process'
import type { Server } from 'node:net'
import type { Lines } from '../access/line-page.ts'
import type { Redeem } from '../codes.ts'
import type { Limits } from '../limits.ts'
import type { RouteTable } from '../route-table.ts'
import type { GivenCertificates } from '../tls/front.ts'
import type { Answers, Asked, Order, Redeemed, Report, WorkerCounts } from './messages.ts'
import { memoryFlags, nodeFile, program } from './program.ts'

/** One worker process, seen from the main process. */
export interface PoolWorker {
  readonly pid: number | undefined
  /** It may accept connections. */
  readonly isListening: boolean
  /** Its last own counts. */
  readonly lastCounts: WorkerCounts
  /** Rejects when the worker ends first or does not answer in time. */
  ask<Kind extends Order['kind']>(
    order: Extract<Order, { kind: Kind }>,
    within: number,
    socket?: Server,
  ): Promise<Answers[Kind]>
  /** Settles when it has the table and the socket. */
  readonly ready: Promise<void>
  /** At once; settles when it has ended. */
  kill(): Promise<void>
  readonly ended: Promise<void>
}

export interface PoolWorkerOptions {
  readonly socket: Server
  /** Of https; null: it is off. */
  readonly https: Server | null
  /** Those in use; null: none were given yet. */
  certificates(): GivenCertificates | null
  readonly limits: Limits
  readonly table: RouteTable
  record(lines: Lines): void
  wanted(project: string, isWanted: boolean): void
  readonly redeem: Redeem
}

/** Loading takes 100 ms, and much longer on a machine that is busy with everything else. */
const startWithin = 20_000

/** Starts a worker. It gets the table before the socket, so it never answers without one. */
export function startPoolWorker(options: PoolWorkerOptions): PoolWorker {
  const { socket, https, limits, table, record, wanted, redeem } = options
  const child = spawn(nodeFile(), [...memoryFlags, program, '--worker'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: workerEnvironment(),
  })
  const open = new Map<number, { resolve(answer: Answers[keyof Answers]): void; reject(error: Error): void }>()
  let turns = 0
  let isListening = false
  let lastCounts: WorkerCounts = { requests: 0, connections: 0, tunnels: 0, held: 0, dropped: 0 }

  child.on('message', (report: Report) => {
    if ('lines' in report) record(report.lines)
    else if ('wanted' in report) wanted(report.wanted.project, report.wanted.isWanted)
    else if ('redeem' in report) void answerWith(child, report.redeem, redeem)
    else {
      open.get(report.turn)?.resolve(report.answer)
      open.delete(report.turn)
    }
  })
  const ended = new Promise<void>((resolve) => {
    // Its last notes may arrive behind its exit; the end of the channel is behind both.
    child.once('close', () => resolve())
    child.once('error', () => {
      if (child.pid === undefined) resolve()
    })
  }).then(() => {
    for (const { reject } of open.values()) reject(new Error('The worker has ended.'))
    open.clear()
  })

  const ask: PoolWorker['ask'] = async (order, within, handle) => {
    turns += 1
    const turn = turns
    const { promise, resolve, reject } = Promise.withResolvers<Answers[keyof Answers]>()
    const late = setTimeout(() => {
      open.delete(turn)
      reject(new Error(`The worker did not answer within ${within} ms.`))
    }, within)
    open.set(turn, { resolve, reject })
    if (child.connected) child.send({ turn, order } satisfies Asked, handle, undefined, () => {})
    else reject(new Error('The worker has ended.'))
    try {
      const answer = await promise
      if (order.kind === 'count') lastCounts = answer as WorkerCounts
      return answer as never
    } finally {
      clearTimeout(late)
      open.delete(turn)
    }
  }
  const begun = ask({ kind: 'begin', limits, table }, startWithin)
  const ready = begun.then(async () => {
    if (!socket.listening) throw new Error('The proxy is being shut down.')
    const given = options.certificates()
    if (given !== null) await ask({ kind: 'certificates', given }, startWithin)
    isListening = true
    if (https?.listening) await ask({ kind: 'listen-https' }, startWithin, https)
    await ask({ kind: 'listen' }, startWithin, socket)
  })
  ready.catch(() => {})

  return {
    pid: child.pid,
    get isListening() {
      return isListening
    },
    get lastCounts() {
      return lastCounts
    },
    ask,
    ready,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    ended,
  }
}

async function answerWith(
  child: ChildProcess,
  { turn, hash, host }: Extract<Report, { redeem: unknown }>['redeem'],
  redeem: Redeem,
): Promise<void> {
  const entered = await redeem(hash, host)
  if (child.connected) child.send({ redeemed: { turn, entered } } satisfies Redeemed, undefined, undefined, () => {})
}

/** It talks to the world and gets nothing that it does not need. */
function workerEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  return { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) }
}
