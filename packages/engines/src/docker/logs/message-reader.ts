import { FRAME_HEADER, STDERR } from '../wire/frames.ts'
import { nothingYet, type StreamState } from './collector-state.ts'

/** Docker's times have nine digits behind the point always, so that they are of one length and sort as text. */
export const TIME = 30
const PREFIX = FRAME_HEADER + TIME + 1
/** Up to here two times are of one second. */
const SECOND = 19
/** Docker cuts a line into messages of 16 KB; much more is no message. */
const LONGEST = 16 * 1024 * 1024

/** What came of both streams since the last `take`, and how far that is. */
export interface Taken {
  readonly stdout: TakenStream
  readonly stderr: TakenStream
  /** For the index of times, oldest first: at that time, so many of these bytes were there. */
  readonly marks: readonly { readonly time: number; readonly stdout: number; readonly stderr: number }[]
}

export interface TakenStream {
  readonly bytes: Buffer
  /** `size` stays what it was. */
  readonly reached: StreamState
}

export interface MessageReader {
  push(bytes: Buffer): void
  /** Bytes that wait to be taken. */
  size(): number
  take(): Taken
}

interface Column {
  bytes: Buffer
  length: number
  /** Of the last message. */
  readonly time: Buffer
  count: number
  /** Whether what comes is there already, and how many messages of the last time will be. */
  repeating: boolean
  repeated: number
  /** Where the content of the last message is; empty before the first of this connection. */
  last: Buffer
  lastFrom: number
  lastTo: number
}

/**
 * Takes messages with their times apart: header, time, a space, content. There may be millions, so none becomes an object: what
 * they hold is copied to where it is written from.
 */
export function createMessageReader(
  known: { readonly stdout: StreamState; readonly stderr: StreamState },
  now: () => number,
): MessageReader {
  const columns = [columnOf(known.stdout), columnOf(known.stderr)] as const
  let begun: Buffer = Buffer.alloc(0)
  let marks: { time: number; stdout: number; stderr: number }[] = []
  const second = Buffer.alloc(SECOND)
  const latest = Buffer.alloc(TIME)

  const mark = (time: Buffer) => {
    const [out, err] = columns
    const last = marks.at(-1)
    const value = { time: millisecondsOf(time), stdout: out.length, stderr: err.length }
    if (last !== undefined && last.stdout === value.stdout && last.stderr === value.stderr) return
    marks.push(value)
  }

  return {
    push(fresh) {
      const bytes = begun.length === 0 ? fresh : Buffer.concat([begun, fresh])
      let at = 0
      while (bytes.length - at >= FRAME_HEADER) {
        const length = bytes.readUInt32BE(at + 4)
        if (length <= TIME || length > LONGEST)
          throw new Error('Docker sent output that is not in the form of its logs.')
        const end = at + FRAME_HEADER + length
        if (end > bytes.length) break
        const column = columns[bytes[at] === STDERR ? 1 : 0]
        if (isNew(column, bytes, at + FRAME_HEADER, end, now)) {
          const from = at + FRAME_HEADER
          if (!same(second, 0, bytes, from, SECOND)) {
            // All that came before is of an earlier second.
            if (latest[0] !== 0) mark(latest)
            bytes.copy(second, 0, from, from + SECOND)
          }
          bytes.copy(latest, 0, from, from + TIME)
          append(column, bytes, at + PREFIX, end)
          column.last = bytes
          column.lastFrom = at + PREFIX
          column.lastTo = end
        }
        at = end
      }
      begun = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at))
    },
    size: () => columns[0].length + columns[1].length,
    take() {
      if (columns[0].length + columns[1].length > 0) mark(latest)
      const taken = { stdout: takeColumn(columns[0]), stderr: takeColumn(columns[1]), marks }
      marks = []
      return taken
    },
  }
}

/** A program that prints nothing costs nothing. */
const none = Buffer.alloc(0)
const ROOM = 64 * 1024

function columnOf({ time: last, count }: StreamState): Column {
  const time = Buffer.alloc(TIME)
  time.write(last, 'latin1')
  const message = { last: none, lastFrom: 0, lastTo: 0 }
  return { bytes: none, length: 0, time, count, repeating: last !== '', repeated: count, ...message }
}

/**
 * Within a stream times grow, so an older one says that messages come again: from shortly before what is stored, or because Docker
 * begins a file anew when it rotates it. Only when the last time is still to come, the clock was put back.
 */
function isNew(column: Column, bytes: Buffer, from: number, to: number, now: () => number): boolean {
  const order = compareTimes(column.time, bytes, from)
  if (order > 0 && (column.repeating || millisecondsOf(column.time) <= now())) {
    column.repeating = true
    column.repeated = column.count
    return false
  }
  if (order === 0 && column.repeating && column.repeated > 0) {
    column.repeated -= 1
    return false
  }
  if (order === 0 && isLastLine(column, bytes, from + TIME + 1, to)) return false
  column.repeating = false
  if (order === 0) column.count += 1
  else {
    bytes.copy(column.time, 0, from, from + TIME)
    column.count = 1
  }
  return true
}

/**
 * A file that is begun anew may hold the last message alone. Two equal lines of one nanosecond are one; parts of a line, which have
 * one time, have no line end.
 */
function isLastLine({ last, lastFrom, lastTo }: Column, bytes: Buffer, from: number, to: number): boolean {
  return last[lastTo - 1] === 0x0a && last.compare(bytes, from, to, lastFrom, lastTo) === 0
}

function compareTimes(time: Buffer, bytes: Buffer, from: number): number {
  for (let at = 0; at < TIME; at++) {
    const difference = time[at]! - bytes[from + at]!
    if (difference !== 0) return difference
  }
  return 0
}

function append(column: Column, bytes: Buffer, from: number, to: number): void {
  const length = column.length + to - from
  if (length > column.bytes.length) {
    const larger = Buffer.allocUnsafe(Math.max(2 * length, ROOM))
    column.bytes.copy(larger, 0, 0, column.length)
    column.bytes = larger
  }
  bytes.copy(column.bytes, column.length, from, to)
  column.length = length
}

/** The bytes stay where they are until they are written; what comes meanwhile gets room of its own. */
function takeColumn(column: Column): TakenStream {
  const bytes = column.bytes.subarray(0, column.length)
  const time = column.time[0] === 0 ? '' : column.time.toString('latin1')
  const reached = time === '' ? nothingYet : { time, count: column.count, size: 0 }
  column.bytes = none
  column.length = 0
  return { bytes, reached }
}

/** From behind, where times differ first. */
function same(a: Buffer, atA: number, b: Buffer, atB: number, length: number): boolean {
  for (let at = length - 1; at >= 0; at--) if (a[atA + at] !== b[atB + at]) return false
  return true
}

function millisecondsOf(time: Buffer): number {
  return Date.parse(`${time.toString('latin1', 0, SECOND + 4)}Z`)
}
