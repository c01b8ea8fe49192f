import { isAscii } from 'node:buffer'
import type { FileHandle } from 'node:fs/promises'
import type { Stream } from './log-files.ts'
import type { TimeIndex } from './log-index.ts'

/** A line longer than this many bytes is cut into several. */
export const LONGEST_LINE = 64 * 1024
const CHUNK = 256 * 1024

export interface Line {
  readonly text: string
  /** Position just behind the line, its line end included. */
  readonly end: number
  readonly time: number
}

/** Reads one stream of one log from a position on, chunk by chunk. Positions count what was dropped in front. */
export interface LineReader {
  /** The next lines, at least one; null when there is no whole line before `until`. With `last`, the rest counts as a line. */
  next(until: number, index: TimeIndex, last: boolean): Promise<readonly Line[] | null>
  readonly position: number
}

export function readLines(file: FileHandle, stream: Stream, from: number): LineReader {
  let position = from
  return {
    get position() {
      return position
    },
    async next(until, index, last) {
      const dropped = stream === 'stdout' ? index.dropped.out : index.dropped.err
      position = Math.max(position, dropped)
      const wanted = Math.min(CHUNK, until - position)
      if (wanted <= 0) return null
      const buffer = Buffer.allocUnsafe(wanted)
      const { bytesRead } = await file.read(buffer, 0, wanted, position - dropped)
      const bytes = buffer.subarray(0, bytesRead)
      const atEnd = last && position + bytesRead >= until
      const lines = split(bytes, position, atEnd, clock(index, stream, (await file.stat()).mtimeMs))
      position = lines.at(-1)?.end ?? position
      return lines.length === 0 ? null : lines
    },
  }
}

function split(bytes: Buffer, offset: number, atEnd: boolean, timeAt: (position: number) => number): Line[] {
  const ascii = isAscii(bytes)
  const text = ascii ? bytes.toString('latin1') : ''
  const slice = (from: number, to: number) => (ascii ? text.slice(from, to) : bytes.toString('utf8', from, to))
  const lines: Line[] = []
  let start = 0
  const push = (to: number, next: number) => {
    const end = to > start && bytes[to - 1] === 13 && next > to ? to - 1 : to
    lines.push({ text: slice(start, end), end: offset + next, time: timeAt(offset + start) })
    start = next
  }
  while (start < bytes.length) {
    const newline = bytes.indexOf(10, start)
    if (newline >= 0 && newline - start <= LONGEST_LINE) push(newline, newline + 1)
    else if (newline >= 0 || bytes.length - start > LONGEST_LINE)
      push(cut(bytes, start + LONGEST_LINE), cut(bytes, start + LONGEST_LINE))
    else if (atEnd) push(bytes.length, bytes.length)
    else break
  }
  return lines
}

/** Steps back to where a UTF-8 character begins, so that cutting does not break it. */
function cut(bytes: Buffer, at: number): number {
  let position = at
  while (position > at - 4 && ((bytes[position] ?? 0) & 0xc0) === 0x80) position -= 1
  return position
}

/** Looks times up in order: neighbouring lines mostly share an entry. */
function clock(index: TimeIndex, stream: Stream, lastChange: number): (position: number) => number {
  let time = Math.floor(lastChange)
  let until = -1
  return (position) => {
    if (position < until) return time
    const found = index.lookUp(stream, position)
    time = found?.time ?? Math.floor(lastChange)
    until = found?.until ?? Number.POSITIVE_INFINITY
    return time
  }
}
