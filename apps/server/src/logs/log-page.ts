import { type LogLine, ProblemError } from '@stackquay/contract'
import type { Engine, LogLine as EngineLine, LogOptions } from '@stackquay/engine-api'
import type { LogFilter } from './log-filter.ts'
import { positionedFrom } from './log-json.ts'
import { type LogPosition, optionsAfter, settledPosition, writePosition } from './log-position.ts'

export interface Page {
  readonly items: LogLine[]
  readonly nextCursor: string
}

export interface PageRequest {
  readonly engine: Pick<Engine, 'logBatches'>
  readonly project: string
  readonly names: readonly string[]
  readonly limit: number
  readonly fits: LogFilter | null
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly signal: AbortSignal
}

const pageMs = 30_000
/** Lines may be long; so many characters of one workload at most. */
const pageSize = 8 * 1024 * 1024
/** Searched first, because what is wanted mostly stands near the end. */
const firstLook = 20_000

/** The newest lines that fit, oldest first; of all workloads together, or so many of each. */
export async function newestLines(request: PageRequest & { readonly ofEach?: boolean }): Promise<Page> {
  const { names, limit, ofEach = false } = request
  return inTime(request.signal, async (signal) => {
    const found = await Promise.all(names.map((name) => newestOf({ ...request, signal }, name)))
    const all = found.flatMap(({ lines }) => lines).sort(byTime)
    const shown = ofEach ? all : all.slice(-limit)
    const cursors: Record<string, string> = {}
    let newest: string | null = null
    for (const { last } of found) {
      if (last === null) continue
      cursors[last.ref.workload] = last.cursor
      if (newest === null || last.time > newest) newest = last.time
    }
    const positioned = positionedFrom({ time: shown[0]?.time ?? null, cursors: {} })
    return {
      items: shown.map(positioned.line),
      nextCursor: writePosition(settledPosition(cursors, null, newest)),
    }
  })
}

/** The first lines that fit after a position. */
export async function linesAfter(request: PageRequest, from: LogPosition): Promise<Page> {
  const { names, limit } = request
  return inTime(request.signal, async (signal) => {
    const found = await Promise.all(names.map((name) => oldestOf({ ...request, signal }, from, name)))
    const all = found.flatMap(({ lines }) => lines).sort(byTime)
    const shown = all.slice(0, limit)
    const positioned = positionedFrom(from)
    const items = shown.map(positioned.line)
    const cursors: Record<string, string> = { ...from.cursors }
    // What fits nowhere need not be searched again, unless a line of the same log was left for the next page.
    if (shown.length === all.length) {
      for (const { last } of found) if (last !== null) cursors[last.ref.workload] = last.cursor
    } else for (const line of shown) cursors[line.ref.workload] = line.cursor
    return { items, nextCursor: writePosition({ time: from.time, cursors }) }
  })
}

interface Found {
  readonly lines: readonly EngineLine[]
  /** The last line that was looked at, whether it fits or not. */
  readonly last: EngineLine | null
}

/** From the end backwards: a look at the last lines, and when they are not enough, one over all the others. */
async function newestOf(request: PageRequest, workload: string): Promise<Found> {
  const { fits, limit, since, until } = request
  const range: LogOptions = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
  const tail = fits === null ? limit : Math.max(firstLook, 4 * limit)
  const near = await collect(request, workload, { ...range, tail }, limit)
  if (near.first === null || near.count < tail || near.lines.length >= limit || fits === null) return near
  const far = await collect(
    request,
    workload,
    { ...range, upTo: near.first.cursor },
    limit - near.lines.length,
    near.first,
  )
  return { lines: [...far.lines, ...near.lines], last: near.last }
}

/** The last `limit` of the lines that fit. `but` is not among them. */
async function collect(
  { engine, project, fits, signal }: PageRequest,
  workload: string,
  options: LogOptions,
  limit: number,
  but?: EngineLine,
): Promise<Found & { readonly first: EngineLine | null; readonly count: number }> {
  let lines: EngineLine[] = []
  let first: EngineLine | null = null
  let last: EngineLine | null = null
  let count = 0
  for await (const batch of engine.logBatches({ project, workload }, options, signal)) {
    first ??= batch.lines[0] ?? null
    last = batch.lines.at(-1) ?? last
    count += batch.lines.length
    const fitting = fits === null ? batch.lines : await fits(batch.lines, signal)
    for (const line of fitting) if (line.cursor !== but?.cursor) lines.push(line)
    if (lines.length > 2 * limit) lines = lines.slice(-limit)
  }
  signal.throwIfAborted()
  return { lines: sized(lines.slice(-limit)), first, last, count }
}

function sized(lines: readonly EngineLine[]): readonly EngineLine[] {
  let size = 0
  let from = lines.length
  while (from > 0 && size < pageSize) size += lines[--from]!.text.length
  return lines.slice(from)
}

async function oldestOf(request: PageRequest, from: LogPosition, workload: string): Promise<Found> {
  const { engine, project, fits, limit, since, until, signal } = request
  const options: LogOptions = {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...optionsAfter(from, workload),
  }
  const lines: EngineLine[] = []
  let last: EngineLine | null = null
  let size = 0
  for await (const batch of engine.logBatches({ project, workload }, options, signal)) {
    const fitting = fits === null ? batch.lines : await fits(batch.lines, signal)
    for (const line of fitting) {
      lines.push(line)
      size += line.text.length
      if (lines.length >= limit || size >= pageSize) return { lines, last: line }
    }
    last = batch.lines.at(-1) ?? last
  }
  signal.throwIfAborted()
  return { lines, last }
}

async function inTime<T>(signal: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = AbortSignal.timeout(pageMs)
  try {
    return await act(AbortSignal.any([signal, deadline]))
  } catch (error) {
    if (!deadline.aborted || error instanceof ProblemError) throw error
    throw new ProblemError('deadline_exceeded', 'Searching the log took longer than allowed.', {
      hint: 'Narrow it with "since", "until" or "workload".',
    })
  }
}

function byTime(a: EngineLine, b: EngineLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0
}
