import { type LogLine, ProblemError } from '@stackquay/contract'
import type { Engine, LogLine as EngineLine, LogOptions } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { Handlers, StreamHandlers } from '../http/handler.ts'
import { type LogPosition, readPosition, writePosition } from './log-position.ts'
import type { Model } from './model.ts'

interface Deps {
  readonly store: Store
  readonly engine: Engine
  readonly model: Model
}

export function logHandlers({
  store,
  engine,
  model,
}: Deps): Pick<Handlers, 'getProjectLogs'> & Pick<StreamHandlers, 'watchProjectLogs'> {
  const workloadsOf = async (idOrSlug: string, only: string | undefined) => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    const known = model.find(row.id) ?? (await model.renew(row.id))
    const names = known.resolved.workloads.map((workload) => workload.ref.workload)
    if (only !== undefined && !names.includes(only)) {
      throw new ProblemError('not_found', `There is no workload "${only}"; there is ${names.join(', ') || 'none'}.`)
    }
    return { project: row.id, names: only === undefined ? names : [only] }
  }

  return {
    getProjectLogs: async ({ params, query }, context) => {
      const { project, names } = await workloadsOf(params.id, query.workload)
      const from = query.cursor === undefined ? null : readPosition(query.cursor)
      const limit = query.limit ?? 500
      const fits = filterOf(query)
      const cursors: Record<string, string> = { ...from?.cursors }
      const pages = await Promise.all(
        names.map(async (workload) => {
          const options = from === null ? (fits === null ? { tail: limit } : {}) : resume(from, workload)
          const lines: EngineLine[] = []
          for await (const line of engine.logs({ project, workload }, options, context.signal)) {
            if (from !== null && isOld(from, line)) continue
            // Without a cursor the newest lines count, and everything up to the end was looked at.
            if (from === null) cursors[workload] = line.cursor
            if (fits !== null && !fits(line)) continue
            lines.push(line)
            if (lines.length <= limit) continue
            if (from !== null) break
            lines.shift()
          }
          return lines
        }),
      )
      const all = pages.flat().sort(byTime)
      const shown = from === null ? all.slice(-limit) : all.slice(0, limit)
      const items = positioned(shown, from ?? { time: null, cursors: {} })
      if (from !== null) for (const line of shown) cursors[line.ref.workload] = line.cursor
      const time = from?.time ?? shown[0]?.time ?? null
      return { status: 200, body: { items, nextCursor: writePosition({ time, cursors }) } }
    },

    watchProjectLogs: async ({ params, query }, _context, socket) => {
      const { project, names } = await workloadsOf(params.id, query.workload)
      const from = query.cursor === undefined ? null : readPosition(query.cursor)
      await socket.send({ type: 'start' })
      const batches = createBatches(from, (items) => socket.send({ type: 'lines', items }))
      const follow = async (workload: string) => {
        const options = from === null ? { tail: query.tail ?? 200 } : resume(from, workload)
        for await (const line of engine.logs({ project, workload }, { ...options, follow: true }, socket.signal)) {
          if (from === null || !isOld(from, line)) await batches.add(line)
        }
      }
      try {
        await Promise.all(names.map(follow))
        await aborted(socket.signal)
      } catch (error) {
        if (!socket.signal.aborted) throw error
      } finally {
        batches.close()
      }
    },
  }
}

function resume(from: LogPosition, workload: string): LogOptions {
  const after = from.cursors[workload]
  return after === undefined ? {} : { after }
}

function isOld(from: LogPosition, line: EngineLine): boolean {
  return from.time !== null && from.cursors[line.ref.workload] === undefined && line.time < from.time
}

function filterOf(query: {
  readonly q?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}): ((line: EngineLine) => boolean) | null {
  if (query.q === undefined && query.since === undefined && query.until === undefined) return null
  const wanted = query.q?.toLowerCase()
  const since = query.since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(query.since)
  const until = query.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(query.until)
  return (line) => {
    const time = Date.parse(line.time)
    return time >= since && time <= until && (wanted === undefined || line.text.toLowerCase().includes(wanted))
  }
}

/** Each line with the position after it in all logs together, so that a reader can go on after any of them. */
function positioned(lines: readonly EngineLine[], from: LogPosition): LogLine[] {
  const cursors: Record<string, string> = { ...from.cursors }
  const time = from.time ?? lines[0]?.time ?? null
  return lines.map((line) => {
    cursors[line.ref.workload] = line.cursor
    const cursor = writePosition({ time, cursors })
    return { workload: line.ref.workload, time: line.time, stream: line.stream, text: line.text, cursor }
  })
}

const batchBytes = 64 * 1024
const batchMs = 8

/** Lines go out together: 64 KB or 8 ms, whichever is first. `add` waits while the reader is slow, so nothing piles up. */
function createBatches(from: LogPosition | null, send: (items: LogLine[]) => Promise<void>) {
  let position: LogPosition = from ?? { time: null, cursors: {} }
  let lines: EngineLine[] = []
  let bytes = 0
  let timer: NodeJS.Timeout | null = null
  let sending: Promise<void> = Promise.resolve()
  const flush = (): Promise<void> => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (lines.length === 0) return sending
    const items = positioned(lines.sort(byTime), position)
    position = readPosition(items.at(-1)!.cursor)
    lines = []
    bytes = 0
    sending = sending.then(() => send(items))
    return sending
  }
  return {
    add: async (line: EngineLine) => {
      lines.push(line)
      bytes += line.text.length + 100
      if (bytes >= batchBytes) return flush()
      timer ??= setTimeout(() => void flush().catch(() => undefined), batchMs)
      return undefined
    },
    close: () => {
      if (timer !== null) clearTimeout(timer)
    },
  }
}

function byTime(a: EngineLine, b: EngineLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}
