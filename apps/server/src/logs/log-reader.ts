import type { Engine, LogBatch, LogOptions } from '@stackquay/engine-api'
import type { LogFilter } from './log-filter.ts'
import { type LogPosition, optionsAfter, settledPosition } from './log-position.ts'
import { cursorAt, type LogSlice, lengthOf, picked, sizeAt, timeAt } from './log-slices.ts'

/** Reads the logs of several workloads as one, in the order of time, from a position on. */
export interface LogReader {
  /**
   * The next lines, and the position behind them. They are at most so many characters together; fewer when there are no more
   * for now, and none when what was read fits no filter. While following it waits until there is something. Null at the end.
   */
  next(signal: AbortSignal): Promise<LogChunk | null>
  close(): Promise<void>
}

export interface LogChunk {
  readonly slices: readonly LogSlice[]
  readonly from: LogPosition
  readonly to: LogPosition
}

export interface LogReaderOptions {
  readonly engine: Pick<Engine, 'logBatches'>
  readonly project: string
  /** Asked again every now and then while following, so that new workloads are followed too. Throws when the project is gone. */
  readonly names: () => readonly string[] | Promise<readonly string[]>
  readonly from: LogPosition
  readonly fits: LogFilter | null
  readonly follow: boolean
  readonly until?: string | undefined
}

/** Sizes of a message, as its JSON is about to be. */
const chunkSize = 64 * 1024
const lineSize = 160
const chunksAtOnce = 4
const batchMs = 8
const namesMs = 500

/** One workload's log. */
interface Feed {
  readonly workload: string
  readonly iterator: AsyncIterator<LogBatch>
  batch: LogBatch
  /** How many lines the batch has, and how many of them were handed over. */
  length: number
  at: number
  /** The position behind the batch, with those of its lines that do not fit. */
  behind: string | null
  isReading: boolean
  /** Everything there was has been handed over. */
  isUpToDate: boolean
  isOver: boolean
}

export function openLogReader(options: LogReaderOptions): LogReader {
  const closing = new AbortController()
  const feeds = new Map<string, Feed>()
  const cursors: Record<string, string> = { ...options.from.cursors }
  let time = options.from.time
  let newest: number | null = null
  let failure: { readonly error: unknown } | null = null
  let wake: (() => void) | null = null
  let namesAt = Number.NEGATIVE_INFINITY
  let told: LogPosition = options.from

  const addFeeds = async () => {
    if (performance.now() - namesAt < namesMs) return
    const names = await options.names()
    namesAt = performance.now()
    for (const workload of names) {
      if (feeds.has(workload)) continue
      const more: LogOptions = {
        ...(options.follow ? { follow: true } : {}),
        ...(options.until === undefined ? {} : { until: options.until }),
      }
      const from = { ...optionsAfter({ time, cursors }, workload), ...more }
      const read = options.engine.logBatches({ project: options.project, workload }, from, closing.signal)
      feeds.set(workload, {
        workload,
        iterator: read[Symbol.asyncIterator](),
        batch: noLines,
        length: 0,
        at: 0,
        behind: null,
        isReading: false,
        isUpToDate: false,
        isOver: false,
      })
    }
  }

  const fill = (feed: Feed) => {
    if (feed.isReading || feed.isOver || feed.at < feed.length) return
    feed.isReading = true
    const read = async () => {
      const { done, value } = await feed.iterator.next()
      if (done === true) {
        feed.isOver = true
        return
      }
      const last = lengthOf(value) - 1
      feed.isUpToDate = last < 0
      if (last < 0) return
      const fitting = options.fits === null ? value : picked(value, await options.fits(value.lines, closing.signal))
      newest = Math.max(newest ?? 0, timeAt(value, last))
      feed.batch = fitting
      feed.length = lengthOf(fitting)
      feed.at = 0
      feed.behind = cursorAt(value, last)
      // Of what fits nowhere nothing is left but the position.
      if (feed.length === 0) pass(feed)
    }
    read()
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => {
        feed.isReading = false
        wake?.()
      })
  }

  /** A batch was handed over whole. */
  const pass = (feed: Feed) => {
    if (feed.behind !== null) cursors[feed.workload] = feed.behind
    feed.behind = null
    feed.batch = noLines
    feed.length = 0
    feed.at = 0
  }

  /** Until anything was read, or so many milliseconds passed. */
  const news = async (milliseconds: number, signal: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    const done = () => resolve()
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done, { once: true })
    await promise
    signal.removeEventListener('abort', done)
    clearTimeout(timer)
    wake = null
  }

  const position = (isUpToDate: boolean): LogPosition => {
    if (isUpToDate) {
      const settled = settledPosition({ ...cursors }, time, newest === null ? null : new Date(newest).toISOString())
      time = settled.time
      return settled
    }
    return { time, cursors: { ...cursors } }
  }

  return {
    async next(signal) {
      const slices: LogSlice[] = []
      const from = told
      let size = 0
      let since: number | null = null
      const ended = (isUpToDate: boolean): LogChunk => {
        told = position(isUpToDate)
        return { slices, from, to: told }
      }
      for (;;) {
        if (failure !== null) throw failure.error
        if (signal.aborted) throw signal.reason
        await addFeeds()
        const all = [...feeds.values()]
        for (const feed of all) fill(feed)
        const ready = all.filter((feed) => feed.at < feed.length)
        const isComplete = all.every((feed) => feed.at < feed.length || feed.isUpToDate || feed.isOver)
        if (isComplete && ready.length > 0) {
          since ??= performance.now()
          size += take(ready, slices, chunkSize * chunksAtOnce - size)
          for (const feed of ready) if (feed.at === feed.length) pass(feed)
          if (size >= chunkSize * chunksAtOnce) return ended(false)
          continue
        }
        if (isComplete && all.every((feed) => feed.isOver) && !options.follow)
          return slices.length > 0 ? ended(true) : null
        if (isComplete) {
          const age = since === null ? 0 : performance.now() - since
          const isFurther = Object.keys(cursors).some((workload) => cursors[workload] !== from.cursors[workload])
          if (since !== null ? age >= batchMs : isFurther) return ended(true)
          await news(since === null ? namesMs : batchMs - age, signal)
        } else if (slices.length > 0 && size >= chunkSize) return ended(false)
        else await news(namesMs, signal)
      }
    },
    async close() {
      closing.abort()
      await Promise.allSettled([...feeds.values()].map(({ iterator }) => iterator.return?.()))
    },
  }

  /** Takes lines in the order of time until they are so long together, or one of the feeds is empty. Answers how long they are. */
  function take(ready: readonly Feed[], into: LogSlice[], room: number): number {
    let size = 0
    while (size < room) {
      let feed = ready[0]!
      let bound = Number.POSITIVE_INFINITY
      for (const other of ready.slice(1)) {
        const [mine, theirs] = [timeAt(feed.batch, feed.at), timeAt(other.batch, other.at)]
        if (theirs < mine) feed = other
        bound = Math.min(bound, Math.max(mine, theirs))
      }
      // Everything of one workload up to the next line of another.
      const { batch, length, workload, at: from } = feed
      let to = from
      do {
        size += sizeAt(batch, to) + lineSize
        to += 1
      } while (to < length && size < room && (bound === Number.POSITIVE_INFINITY || timeAt(batch, to) <= bound))
      feed.at = to
      cursors[workload] = cursorAt(batch, to - 1)
      into.push({ workload, batch, from, to })
      if (to === length) return size
    }
    return size
  }
}

const noLines: LogBatch = { lines: [], columns: null }
