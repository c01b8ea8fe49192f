import { type FoundLine, type LogSearch, ProblemError } from '@stackquay/contract'
import { levelOf } from '@stackquay/domain/log-level'
import { type Engine, EngineError, type LogLine as EngineLine, type WorkloadRef } from '@stackquay/engine-api'
import type { LogFilter } from './log-filter.ts'
import { writePosition } from './log-position.ts'

export interface SearchedProject {
  readonly id: string
  readonly slug: string
  /** Of its workloads. */
  readonly names: readonly string[]
}

export interface SearchRequest {
  readonly engine: Pick<Engine, 'logBatches'>
  readonly projects: readonly SearchedProject[]
  readonly fits: LogFilter
  readonly limit: number
  readonly since: number | null
  readonly until: number
  readonly cursor: SearchPosition | null
  readonly budgetMs: number
  readonly signal: AbortSignal
}

/** Where a page ended: lines up to this time, but for the first so many of exactly that time. */
export interface SearchPosition {
  readonly until: number
  readonly skip: number
}

export function writeSearchPosition({ until, skip }: SearchPosition): string {
  return `${until}~${skip}`
}

export function readSearchPosition(text: string): SearchPosition {
  const found = /^(\d{1,15})~(\d{1,9})$/.exec(text)
  if (found === null)
    throw new ProblemError('invalid_request', 'The cursor is not one of this search.', {
      hint: 'Send "cursor" as "nextCursor" was answered.',
    })
  return { until: Number(found[1]), skip: Number(found[2]) }
}

const hour = 3_600_000
/** How far back one looks at a time, in all projects: what is wanted mostly stands near the end, and lines are answered newest first. */
const windows = [hour, 24 * hour, 7 * 24 * hour] as const
const atOnce = 4

/** The newest lines that fit, of all these projects together. What time is left for is answered, and said. */
export async function searchProjects(request: SearchRequest): Promise<LogSearch> {
  const { limit, since, cursor } = request
  const deadline = AbortSignal.timeout(request.budgetMs)
  const signal = AbortSignal.any([request.signal, deadline])
  const end = cursor?.until ?? request.until
  const skip = cursor?.skip ?? 0
  const wanted = limit + skip + 1
  let found: FoundLine[] = []
  let isMissing = false
  let to = end
  for (const width of [...windows, Number.POSITIVE_INFINITY]) {
    const from = Math.max(since ?? 0, end - width)
    const part = await searchWindow({ ...request, signal }, { from, to }, wanted)
    request.signal.throwIfAborted()
    found = [...found, ...part.lines]
    isMissing ||= part.isMissing
    const isLast = from <= (since ?? 0)
    if (part.isComplete && found.length < wanted && !isLast) {
      to = from - 1
      continue
    }
    const page = pageOf(found, { end, skip, limit, from, isPartial: !part.isComplete, isLast })
    return { ...page, partial: page.partial || isMissing }
  }
  throw new Error('The last window reaches back to the beginning.')
}

interface Reached {
  readonly end: number
  readonly skip: number
  readonly limit: number
  /** Where the last window begins. */
  readonly from: number
  readonly isPartial: boolean
  readonly isLast: boolean
}

function pageOf(found: readonly FoundLine[], { end, skip, limit, from, isPartial, isLast }: Reached): LogSearch {
  const items = found.slice(skip, skip + limit)
  const hasMore = found.length > skip + limit
  const searchedFrom = isLast && from === 0 ? null : new Date(from).toISOString()
  const last = items.at(-1)
  if (hasMore && last !== undefined) {
    const until = Date.parse(last.time)
    const ofThatTime = items.filter(({ time }) => time === last.time).length
    const before = until === end ? skip : 0
    return {
      items: [...items],
      nextCursor: writeSearchPosition({ until, skip: before + ofThatTime }),
      partial: isPartial,
      searchedFrom: last.time,
    }
  }
  // What is left of this window was not reached: one goes on before it, and the answer says so.
  const nextCursor = isPartial && !isLast ? writeSearchPosition({ until: from - 1, skip: 0 }) : null
  return { items: [...items], nextCursor, partial: isPartial, searchedFrom }
}

interface FoundPart<Line> {
  readonly lines: readonly Line[]
  /** False when time ran out. */
  readonly isComplete: boolean
  /** Some log could not be read: its engine is away. */
  readonly isMissing: boolean
}

/** The newest of a time, newest first. */
async function searchWindow(
  request: SearchRequest,
  window: { readonly from: number; readonly to: number },
  most: number,
): Promise<FoundPart<FoundLine>> {
  if (window.to < window.from) return { lines: [], isComplete: true, isMissing: false }
  const logs = request.projects.flatMap(({ id, slug, names }) => names.map((workload) => ({ id, slug, workload })))
  const parts: FoundPart<FoundLine>[] = []
  let at = 0
  const next = async () => {
    for (let log = at++; log < logs.length; log = at++) {
      const { id, slug, workload } = logs[log]!
      const part = await searchLog(request, { project: id, workload }, window, most)
      parts[log] = { ...part, lines: part.lines.map((line) => shownLine(line, slug)).reverse() }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  // Stable: lines of one time have the same order on every page, so that none is repeated or left out.
  const lines = parts.flatMap((part) => part.lines).sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
  return {
    lines: lines.slice(0, most),
    isComplete: parts.every((part) => part.isComplete),
    isMissing: parts.some((part) => part.isMissing),
  }
}

/** The newest of one log, oldest first. */
async function searchLog(
  { engine, fits, signal }: SearchRequest,
  ref: WorkloadRef,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
): Promise<FoundPart<EngineLine>> {
  let lines: EngineLine[] = []
  let isMissing = false
  const options = { since: new Date(from).toISOString(), until: new Date(to).toISOString() }
  try {
    if (signal.aborted) return { lines, isComplete: false, isMissing }
    for await (const batch of engine.logBatches(ref, options, signal)) {
      for (const line of await fits(batch.lines, signal)) lines.push(line)
      if (lines.length > 2 * most) lines = lines.slice(-most)
      if (signal.aborted) break
    }
  } catch (error) {
    isMissing = error instanceof EngineError
    if (!isMissing && !signal.aborted) throw error
  }
  return { lines: lines.slice(-most), isComplete: !signal.aborted, isMissing }
}

function shownLine({ ref, time, stream, text, cursor }: EngineLine, slug: string): FoundLine {
  const position = writePosition({ time, cursors: { [ref.workload]: cursor } })
  return { project: slug, workload: ref.workload, time, stream, text, level: levelOf(text), cursor: position }
}
