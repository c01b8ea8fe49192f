import type { FileHandle } from 'node:fs/promises'
import type { Printed } from '@stackquay/engine-api'
import type { Stream } from './log-files.ts'
import type { TimeIndex } from './log-index.ts'
import { isPlainText } from './plain-text.ts'

/** A line longer than this many bytes is cut into several. */
export const LONGEST_LINE = 64 * 1024
const CHUNK = 256 * 1024
const newline = 10
const carriageReturn = 13

/** One stream of one log, as it was looked at a moment ago. */
export interface StreamView {
  readonly file: FileHandle
  readonly stream: Stream
  readonly index: TimeIndex
  /** Bytes that were cut off the file: position less offset. */
  readonly base: number
  readonly front: number
  /** Position of the file's end. */
  readonly size: number
  /** Time of the last change, for lines without an entry of the index. */
  readonly changed: number
  /** Where the log begins by now: its older part may have been dropped meanwhile. */
  frontNow(): Promise<number>
}

/** Reads one stream of one log from a position on, chunk by chunk. */
export interface LineReader {
  /** The next lines, at least one; null when there is no whole line before `until`. With `last`, the rest counts as a line. */
  next(until: number, last: boolean): Promise<Lines | null>
}

/** Lines that stand behind each other in `bytes`; what is behind `count` in the columns means nothing. */
export interface Lines extends Printed {
  /** Position of the first byte. */
  readonly offset: number
  readonly count: number
  /** Where each begins, and behind the last one where the next will. */
  readonly starts: Uint32Array
  /** Where the text of each ends: its line end is not part of it. */
  readonly ends: Uint32Array
  readonly times: Float64Array
}

export function readLines(view: StreamView, from: number): LineReader {
  let position = Math.max(from, view.front)
  const timeAt = clock(view)
  return {
    async next(until, last) {
      for (;;) {
        const wanted = Math.min(CHUNK, until - position)
        if (wanted <= 0) return null
        const buffer = Buffer.allocUnsafe(wanted)
        const { bytesRead } = await view.file.read(buffer, 0, wanted, position - view.base)
        const bytes = buffer.subarray(0, bytesRead)
        // Dropped lines become a hole, which reads as zeros; the index says so before it is made.
        if (bytes.includes(0)) {
          const front = await view.frontNow()
          if (front > position) {
            position = front
            continue
          }
        }
        const found = split(bytes, position, last && position + bytesRead >= until, timeAt)
        if (found.count === 0) return null
        position += found.starts[found.count]!
        return found
      }
    },
  }
}

/** The nearest place at or behind a position where a line begins. */
export async function nextLineStart(view: StreamView, position: number): Promise<number> {
  if (position <= view.front) return view.front
  if (position >= view.size) return view.size
  const buffer = Buffer.allocUnsafe(LONGEST_LINE)
  const { bytesRead } = await view.file.read(buffer, 0, buffer.length, position - 1 - view.base)
  const found = buffer.subarray(0, bytesRead).indexOf(newline)
  return found < 0 ? position : position + found
}

/** Where the last `count` lines before a position begin; an unfinished line at its end counts as one. */
export async function lastLineStarts(view: StreamView, end: number, count: number): Promise<number> {
  let found = 0
  for (let to = end; to > view.front; ) {
    const from = Math.max(view.front, to - LONGEST_LINE)
    const buffer = Buffer.alloc(to - from)
    await view.file.read(buffer, 0, buffer.length, from - view.base)
    for (let at = buffer.lastIndexOf(newline); at >= 0; at = at === 0 ? -1 : buffer.lastIndexOf(newline, at - 1)) {
      if (from + at === end - 1) continue
      found += 1
      if (found >= count) return from + at + 1
    }
    to = from
  }
  return count === 0 ? end : view.front
}

function split(bytes: Buffer, offset: number, atEnd: boolean, timeAt: (position: number) => number): Lines {
  const { length } = bytes
  let room = 64 + (length >> 6)
  let starts = new Uint32Array(room + 1)
  let ends = new Uint32Array(room)
  let times = new Float64Array(room)
  const latin1 = bytes.toString('latin1')
  let count = 0
  let start = 0
  while (start < length) {
    let to = latin1.indexOf('\n', start)
    let next = to + 1
    if (to < 0 || to - start > LONGEST_LINE) {
      if (length - start > LONGEST_LINE) to = cut(bytes, start + LONGEST_LINE)
      else if (atEnd) to = length
      else break
      next = to
    }
    if (count === room) {
      room *= 2
      starts = grown(starts, new Uint32Array(room + 1))
      ends = grown(ends, new Uint32Array(room))
      times = grown(times, new Float64Array(room))
    }
    starts[count] = start
    ends[count] = to > start && next > to && bytes[to - 1] === carriageReturn ? to - 1 : to
    times[count] = timeAt(offset + start)
    count += 1
    start = next
  }
  starts[count] = start
  // All at once costs nothing beside one by one.
  const isPlain = isPlainText(bytes.subarray(0, start))
  return { bytes, latin1, isPlain, offset, count, starts, ends, times }
}

function grown<Column extends Uint32Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from)
  return to
}

/** Steps back to where a UTF-8 character begins, so that cutting does not break it. */
function cut(bytes: Buffer, at: number): number {
  let position = at
  while (position > at - 4 && ((bytes[position] ?? 0) & 0xc0) === 0x80) position -= 1
  return position
}

/** Looks times up in order: neighbouring lines mostly share an entry. */
function clock({ index, stream, changed }: StreamView): (position: number) => number {
  const lastChange = Math.floor(changed)
  let time = lastChange
  let until = -1
  return (position) => {
    if (position < until) return time
    const found = index.lookUp(stream, position)
    time = found?.time ?? Math.max(lastChange, index.last)
    until = found?.until ?? Number.POSITIVE_INFINITY
    return time
  }
}
