import type { LogStats } from '@stackquay/contract'
import {
  addErrors,
  type CountedError,
  type CountedLevel,
  countedLevels,
  type StepRange,
  searchOf,
  stepsOver,
  topErrors,
} from '@stackquay/domain'
import type { Engine, LogBatch } from '@stackquay/engine-api'
import type { LogCountsAnswer, LogLinesBlock } from '../workers/tasks/log-counts.ts'
import { TaskLimitError } from '../workers/thread-pool.ts'
import type { Workers } from '../workers/workers.ts'

export interface CountRequest {
  readonly engine: Pick<Engine, 'logBatches'>
  readonly workers: Pick<Workers, 'run'>
  readonly project: string
  readonly names: readonly string[]
  /** Milliseconds since 1970. */
  readonly since: number
  readonly until: number
  /** What is counted by then is the answer. */
  readonly budgetMs: number
  readonly signal: AbortSignal
}

/** The range is read in so many parts, the newest first: when time runs out, the older ones are missing. */
const parts = 6
/** Characters that a thread is handed at once. */
const blockSize = 2 * 1024 * 1024
const mostErrors = 20
const taskMs = 10_000

export async function countLogs(request: CountRequest): Promise<LogStats> {
  const { since, until } = request
  const range = stepsOver(since, until)
  const total = createTotal(range)
  const deadline = AbortSignal.timeout(request.budgetMs)
  const signal = AbortSignal.any([request.signal, deadline])
  const width = Math.ceil(range.steps / parts)
  let countedFrom = until
  let isPartial = false
  for (let last = range.steps; last > 0 && !isPartial; last -= width) {
    const from = Math.max(since, timeOf(range, Math.max(0, last - width)))
    const to = Math.min(until, timeOf(range, last) - 1)
    isPartial = !(await countPart({ ...request, signal }, range, { from, to }, total))
    request.signal.throwIfAborted()
    if (!isPartial) countedFrom = from
  }
  return {
    from: new Date(range.from).toISOString(),
    stepSeconds: range.stepSeconds,
    countedFrom: new Date(countedFrom).toISOString(),
    partial: isPartial,
    levels: total.levels(),
    topErrors: topErrors(total.errors(), mostErrors).map(shownError),
  }
}

function timeOf({ from, stepSeconds }: StepRange, step: number): number {
  return from + step * stepSeconds * 1000
}

/** False when time ran out before everything was counted; what was, stays. */
async function countPart(
  { engine, workers, project, names, signal }: CountRequest,
  range: StepRange,
  { from, to }: { readonly from: number; readonly to: number },
  total: Total,
): Promise<boolean> {
  const options = { since: new Date(from).toISOString(), until: new Date(to).toISOString() }
  const about = { from: range.from, stepMs: range.stepSeconds * 1000, steps: range.steps }
  let running: Promise<void> = Promise.resolve()
  let blocks: LogLinesBlock[] = []
  let size = 0
  const hand = async () => {
    // One is counted while the next is read.
    await running
    const task = workers.run('logCounts', { ...about, blocks }, { ms: taskMs, signal })
    running = task.then(total.add)
    running.catch(() => undefined)
    blocks = []
    size = 0
  }
  try {
    for (const workload of names) {
      for await (const batch of engine.logBatches({ project, workload }, options, signal)) {
        const block = blockOf(batch, workload)
        if (block.times.length === 0) continue
        blocks.push(block)
        size += block.texts[0].length + block.texts[1].length
        if (size >= blockSize) await hand()
      }
      if (signal.aborted) return false
    }
    if (blocks.length > 0) await hand()
    await running
    return !signal.aborted
  } catch (error) {
    if (signal.aborted || (error instanceof TaskLimitError && error.reason === 'time')) return false
    throw error
  }
}

function blockOf({ columns, lines }: LogBatch, workload: string): LogLinesBlock {
  if (columns !== null) {
    const { length, printed, streams, starts, ends, times } = columns
    return {
      workload,
      texts: [printed[0].latin1, printed[1].latin1],
      isLatin1: true,
      // Copies of these alone: a view would take all that lies around it along.
      streams: streams.slice(0, length),
      starts: starts.slice(0, length),
      ends: ends.slice(0, length),
      times: times.slice(0, length),
    }
  }
  const [starts, ends] = [new Uint32Array(lines.length), new Uint32Array(lines.length)]
  let at = 0
  for (const [line, { text }] of lines.entries()) {
    starts[line] = at
    at += text.length
    ends[line] = at
  }
  return {
    workload,
    texts: [lines.map(({ text }) => text).join(''), ''],
    isLatin1: false,
    streams: new Uint8Array(lines.length),
    starts,
    ends,
    times: Float64Array.from(lines, ({ time }) => Date.parse(time)),
  }
}

interface Total {
  add(answer: LogCountsAnswer): void
  levels(): LogStats['levels']
  errors(): ReadonlyMap<string, CountedError>
}

function createTotal({ steps }: StepRange): Total {
  const sums = new Uint32Array(countedLevels.length * steps)
  let errors: ReadonlyMap<string, CountedError> = new Map()
  const of = (level: CountedLevel) => {
    const at = countedLevels.indexOf(level) * steps
    return [...sums.subarray(at, at + steps)]
  }
  return {
    add(answer) {
      for (const [at, count] of answer.counts.entries()) sums[at]! += count
      errors = addErrors(errors, answer.errors)
    },
    levels: () => ({
      error: of('error'),
      warning: of('warning'),
      info: of('info'),
      debug: of('debug'),
      none: of('none'),
    }),
    errors: () => errors,
  }
}

function shownError({ pattern, text, workload, count, firstAt, lastAt }: CountedError): LogStats['topErrors'][number] {
  return {
    ...{ pattern, search: searchOf(pattern), text, workload, count },
    firstAt: new Date(firstAt).toISOString(),
    lastAt: new Date(lastAt).toISOString(),
  }
}
