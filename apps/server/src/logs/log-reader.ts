import type { Engine, LogOptions } from '@stackquay/engine-api'
import { type Feed, hasLines, isDecided, openFeed, passBatch, readBatch } from './log-feed.ts'
import type { LogFilter } from './log-filter.ts'
import { takeInOrder } from './log-order.ts'
import { type LogPosition, optionsAfter } from './log-position.ts'
import { createLogProgress, type LogProgress } from './log-progress.ts'
import { cursorAt, type LogSlice } from './log-slices.ts'

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
const chunksAtOnce = 4
const batchMs = 8
const namesMs = 500

export function openLogReader(options: LogReaderOptions): LogReader {
  const closing = new AbortController()
  const progress = createLogProgress(options.from)
  const feeds = createFeeds(options, progress, closing.signal)
  let told: LogPosition = options.from

  return {
    async next(signal) {
      const slices: LogSlice[] = []
      const from = told
      let size = 0
      let since: number | null = null
      const ended = (isUpToDate: boolean): LogChunk => {
        told = progress.position(isUpToDate)
        return { slices, from, to: told }
      }
      for (;;) {
        const all = await feeds.filling(signal)
        const isComplete = all.every(isDecided)
        if (isComplete && all.some(hasLines)) {
          since ??= performance.now()
          const taken = feeds.take(chunkSize * chunksAtOnce - size)
          slices.push(...taken.slices)
          size += taken.size
          if (size >= chunkSize * chunksAtOnce) return ended(false)
        } else if (isComplete && all.every((feed) => feed.isOver) && !options.follow) {
          return slices.length > 0 ? ended(true) : null
        } else if (isComplete) {
          const age = since === null ? 0 : performance.now() - since
          if (since !== null ? age >= batchMs : progress.isBehind(from)) return ended(true)
          await feeds.news(since === null ? namesMs : batchMs - age, signal)
        } else if (slices.length > 0 && size >= chunkSize) return ended(false)
        else await feeds.news(namesMs, signal)
      }
    },
    async close() {
      closing.abort()
      await feeds.close()
    },
  }
}

/** The logs of all workloads that there are by now. */
function createFeeds(options: LogReaderOptions, progress: LogProgress, closing: AbortSignal) {
  const feeds = new Map<string, Feed>()
  const { wake, news } = createNews()
  let failure: { readonly error: unknown } | null = null
  let namesAt = Number.NEGATIVE_INFINITY

  const addFeeds = async () => {
    if (performance.now() - namesAt < namesMs) return
    const names = await options.names()
    namesAt = performance.now()
    for (const workload of names) {
      if (feeds.has(workload)) continue
      const wanted = { ...optionsAfter(progress, workload), ...rangeOf(options) }
      const ref = { project: options.project, workload }
      feeds.set(workload, openFeed(workload, options.engine.logBatches(ref, wanted, closing)))
    }
  }

  const pass = (feed: Feed) => {
    const behind = passBatch(feed)
    if (behind !== null) progress.passed(feed.workload, behind)
  }

  const fill = async (feed: Feed) => {
    if (feed.isReading || feed.isOver || hasLines(feed)) return
    feed.isReading = true
    try {
      const newest = await readBatch(feed, options.fits, closing)
      if (newest === null) return
      progress.saw(newest)
      // Of what fits nowhere nothing is left but the position.
      if (!hasLines(feed)) pass(feed)
    } catch (error) {
      failure ??= { error }
    } finally {
      feed.isReading = false
      wake()
    }
  }

  return {
    news,
    /** All of them; those without lines are being read. Throws what went wrong with any of them before. */
    async filling(signal: AbortSignal): Promise<readonly Feed[]> {
      if (failure !== null) throw failure.error
      if (signal.aborted) throw signal.reason
      await addFeeds()
      const all = [...feeds.values()]
      for (const feed of all) void fill(feed)
      return all
    },
    take(room: number) {
      const ready = [...feeds.values()].filter(hasLines)
      const taken = takeInOrder(ready, room)
      for (const { workload, batch, to } of taken.slices) progress.passed(workload, cursorAt(batch, to - 1))
      for (const feed of ready) if (!hasLines(feed)) pass(feed)
      return taken
    },
    async close() {
      await Promise.allSettled([...feeds.values()].map(({ iterator }) => iterator.return?.()))
    },
  }
}

function rangeOf({ follow, until }: LogReaderOptions): LogOptions {
  return { ...(follow ? { follow } : {}), ...(until === undefined ? {} : { until }) }
}

function createNews() {
  let heard: (() => void) | null = null
  return {
    wake: () => heard?.(),
    /** Until anything was read, or so many milliseconds passed. */
    news: async (milliseconds: number, signal: AbortSignal): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      heard = resolve
      const done = () => resolve()
      const timer = setTimeout(done, milliseconds)
      signal.addEventListener('abort', done, { once: true })
      await promise
      signal.removeEventListener('abort', done)
      clearTimeout(timer)
      heard = null
    },
  }
}
