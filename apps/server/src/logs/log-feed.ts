import type { LogBatch } from '@stackquay/engine-api'
import type { LogFilter } from './log-filter.ts'
import { cursorAt, lengthOf, picked, timeAt } from './log-slices.ts'

/** One workload's log, read batch by batch. */
export interface Feed {
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

export function openFeed(workload: string, batches: AsyncIterable<LogBatch>): Feed {
  return {
    workload,
    iterator: batches[Symbol.asyncIterator](),
    batch: noLines,
    length: 0,
    at: 0,
    behind: null,
    isReading: false,
    isUpToDate: false,
    isOver: false,
  }
}

export function hasLines(feed: Feed): boolean {
  return feed.at < feed.length
}

/** Nothing more comes of it for now, or there are lines to hand over. */
export function isDecided(feed: Feed): boolean {
  return hasLines(feed) || feed.isUpToDate || feed.isOver
}

/** Reads the next batch. Answers the time of its last line, in ms since 1970; null when there was none. */
export async function readBatch(feed: Feed, fits: LogFilter | null, signal: AbortSignal): Promise<number | null> {
  const { done, value } = await feed.iterator.next()
  if (done === true) {
    feed.isOver = true
    return null
  }
  const last = lengthOf(value) - 1
  feed.isUpToDate = last < 0
  if (last < 0) return null
  const fitting = fits === null ? value : picked(value, await fits(value.lines, signal))
  feed.batch = fitting
  feed.length = lengthOf(fitting)
  feed.at = 0
  feed.behind = cursorAt(value, last)
  return timeAt(value, last)
}

/** Its batch was handed over whole. Answers the position behind it. */
export function passBatch(feed: Feed): string | null {
  const { behind } = feed
  Object.assign(feed, { behind: null, batch: noLines, length: 0, at: 0 })
  return behind
}

const noLines: LogBatch = { lines: [], columns: null }
