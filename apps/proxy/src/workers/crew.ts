import type { Server } from 'node:http'
import type { Lines } from '../access/sheet.ts'
import type { Limits } from '../limits.ts'
import { log } from '../log.ts'
import type { RouteChanges } from '../route-changes.ts'
import type { RouteTable } from '../route-table.ts'
import type { Flights } from '../upstream/pool.ts'
import { type CrewMember, startCrewMember } from './crew-member.ts'
import type { Order, WorkerCounts } from './messages.ts'

/** The worker processes beside the main process. They accept from the same listening socket. */
export interface Crew {
  /** How many are wanted. */
  readonly size: number
  readonly pids: readonly number[]
  /** One more, up to `most`. */
  grow(): void
  /** Resolves when no request can begin with another table any more, in any worker. */
  use(table: RouteTable): Promise<void>
  /** The same, when all have the table that these changes stand on. */
  change(changes: RouteChanges): Promise<void>
  counts(): Promise<WorkerCounts>
  flights(host: string, port: number): Promise<Flights>
  /** Resolves when none of them accepts any more. */
  stop(): Promise<void>
  /** After `stop`: settles when all have ended. */
  ended(): Promise<void>
}

export interface CrewOptions {
  /** Listening. */
  readonly socket: Server
  readonly limits: Limits
  /** The table that is in use. */
  readonly table: () => RouteTable
  readonly count: number
  readonly most: number
  record(lines: Lines): void
}

/** For questions whose answer is only good to know. */
const countWithin = 500
/** A worker that ended sooner than this has a fault that its successor may have too. */
const shortLife = 2_000
const longestPause = 10_000

export function createCrew({ socket, limits, table, count, most, record }: CrewOptions): Crew {
  const members = new Set<CrewMember>()
  const restarts = new Set<NodeJS.Timeout>()
  let size = 0
  let stopping = false
  let pause = 0
  /** Of those that have ended. */
  let past = { requests: 0, dropped: 0 }

  const start = (): void => {
    if (stopping) return
    const startedAt = performance.now()
    const member = startCrewMember({ socket, limits, table: table(), record })
    members.add(member)
    member.ready.then(
      () => log('worker started', { pid: member.pid }),
      () => void member.kill(),
    )
    void member.ended.then(() => {
      members.delete(member)
      const { requests, dropped } = member.lastCounts
      past = { requests: past.requests + requests, dropped: past.dropped + dropped }
      if (stopping) return
      pause = performance.now() - startedAt > shortLife ? 0 : Math.min(longestPause, Math.max(50, pause * 2))
      log('worker ended; another takes its place', { pid: member.pid, in: pause })
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

  const tellAll = async (order: TableOrder) => {
    await Promise.all([...members].map((member) => tell(member, order, limits.tableWithin)))
  }

  return {
    get size() {
      return size
    },
    get pids() {
      return [...members].flatMap(({ pid, isListening }) => (isListening && pid !== undefined ? [pid] : []))
    },
    grow,
    use: (next) => tellAll({ kind: 'use', table: next }),
    change: (changes) => tellAll({ kind: 'change', changes }),
    async counts() {
      const all = await Promise.all(
        [...members].map((member) => member.ask({ kind: 'count' }, countWithin).catch(() => member.lastCounts)),
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
    },
    async flights(host, port) {
      const all = await Promise.all(
        // One that does not answer has whatever it has: who waits for the end of all must not be told that it came.
        [...members].map((member) =>
          member.ask({ kind: 'flights', host, port }, limits.tableWithin).catch(unknown(member)),
        ),
      )
      return all.reduce((sum, one) => ({ requests: sum.requests + one.requests, tunnels: sum.tunnels + one.tunnels }), {
        requests: 0,
        tunnels: 0,
      })
    },
    async stop() {
      stopping = true
      for (const timer of restarts) clearTimeout(timer)
      await Promise.all(
        [...members].map(async (member) => {
          if (!member.isListening) return member.kill()
          await member.ask({ kind: 'stop' }, limits.tableWithin).catch(() => member.kill())
        }),
      )
    },
    async ended() {
      const late = setTimeout(() => {
        for (const member of members) void member.kill()
      }, limits.drainWithin + 2_000)
      await Promise.all([...members].map(({ ended }) => ended))
      clearTimeout(late)
    },
  }
}

type TableOrder = Extract<Order, { kind: 'use' | 'change' }>

/** One that does not take it in time is ended; another takes its place. */
async function tell(member: CrewMember, order: TableOrder, within: number): Promise<void> {
  // One that does not listen yet reads its orders one after the other: this one before the one to listen.
  const isListening = member.isListening
  const used = member.ask(order, within)
  if (!isListening) {
    used.catch(() => {})
    return
  }
  try {
    await used
  } catch {
    log('a worker did not take the new table and is replaced', { pid: member.pid })
    await member.kill()
  }
}

function unknown(member: CrewMember): () => Flights {
  return () => ({ requests: member.isListening ? 1 : 0, tunnels: 0 })
}
