import type { LogColumns, WorkloadRef } from '@stackquay/engine-api'
import { batchOf, type MergedBatch } from './log-batch.ts'
import { type LineReader, type Lines, readLines } from './log-lines.ts'
import type { OpenLog } from './log-open.ts'
import type { Place } from './log-place.ts'

export interface MergeRange {
  readonly from: Place
  /** Not behind this place of the same log. */
  readonly end: Place | null
  /** A last line without its end counts: nothing will be added to it. */
  readonly partial: boolean
}

/** What one log holds now, from a place on, both streams in the order of time, in batches. */
export async function* mergeLog(
  ref: WorkloadRef,
  open: OpenLog,
  { from, end, partial }: MergeRange,
): AsyncGenerator<MergedBatch> {
  const { stdout, stderr } = await open.look()
  const out = source(readLines(stdout, from.out), Math.min(stdout.size, end?.out ?? stdout.size))
  const err = source(readLines(stderr, from.err), Math.min(stderr.size, end?.err ?? stderr.size))
  let place = from
  for (;;) {
    await Promise.all([fill(out, partial), fill(err, partial)])
    const columns = merge(ref, { ...place, log: open.log }, out, err)
    if (columns.length === 0) return
    place = placeBehind(columns)
    yield batchOf(columns)
  }
}

/** Where reading goes on after the last of these lines. */
export function placeBehind({ log, outs, errs, length }: LogColumns): Place {
  return { log, out: outs[length - 1]!, err: errs[length - 1]! }
}

interface Source {
  readonly reader: LineReader
  readonly until: number
  lines: Lines
  at: number
  done: boolean
}

function source(reader: LineReader, until: number): Source {
  return { reader, until, lines: noLines, at: 0, done: false }
}

const noLines: Lines = {
  bytes: Buffer.alloc(0),
  latin1: '',
  isPlain: true,
  offset: 0,
  count: 0,
  starts: new Uint32Array(1),
  ends: new Uint32Array(0),
  times: new Float64Array(0),
}

async function fill(from: Source, partial: boolean): Promise<void> {
  if (from.done || from.at < from.lines.count) return
  const found = await from.reader.next(from.until, partial)
  from.at = 0
  from.lines = found ?? noLines
  from.done = found === null
}

/** Takes lines from both streams by their time, until one must be filled again; of equal times, stdout's first. */
function merge(ref: WorkloadRef, { log, out: fromOut, err: fromErr }: Place, out: Source, err: Source): LogColumns {
  const [a, b] = [out.lines, err.lines]
  const room = a.count - out.at + b.count - err.at
  const streams = new Uint8Array(room)
  const starts = new Uint32Array(room)
  const ends = new Uint32Array(room)
  const times = new Float64Array(room)
  const outs = new Float64Array(room)
  const errs = new Float64Array(room)
  let outAt = out.at
  let errAt = err.at
  let outEnd = fromOut
  let errEnd = fromErr
  let length = 0
  for (; length < room; length++) {
    const hasOut = outAt < a.count
    const hasErr = errAt < b.count
    if ((!hasOut && !out.done) || (!hasErr && !err.done)) break
    if (hasOut && (!hasErr || a.times[outAt]! <= b.times[errAt]!)) {
      starts[length] = a.starts[outAt]!
      ends[length] = a.ends[outAt]!
      times[length] = a.times[outAt]!
      outAt += 1
      outEnd = a.offset + a.starts[outAt]!
    } else {
      streams[length] = 1
      starts[length] = b.starts[errAt]!
      ends[length] = b.ends[errAt]!
      times[length] = b.times[errAt]!
      errAt += 1
      errEnd = b.offset + b.starts[errAt]!
    }
    outs[length] = outEnd
    errs[length] = errEnd
  }
  out.at = outAt
  err.at = errAt
  return { ref, length, streams, printed: [a, b], starts, ends, times, log, outs, errs }
}
