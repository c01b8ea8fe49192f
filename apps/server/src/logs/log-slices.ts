import type { LogBatch, LogLine } from '@stackquay/engine-api'
import { type ChunkMemory, type ChunkShape, ChunkWriter } from './log-chunks.ts'
import { addJson, addText } from './log-encode.ts'
import { positionedFrom } from './log-json.ts'
import type { LogPosition } from './log-position.ts'

/** Lines `from` to `to` (not included) of a batch of one workload. */
export interface LogSlice {
  readonly workload: string
  readonly batch: LogBatch
  readonly from: number
  readonly to: number
}

/** The lines as JSON objects, in chunks; `after` is the position in front of the first. */
export function jsonOf(
  slices: readonly LogSlice[],
  after: LogPosition,
  shape: ChunkShape,
  memory: ChunkMemory | null = null,
): readonly Buffer[] {
  const positioned = positionedFrom(after)
  const chunks = new ChunkWriter(shape, memory)
  for (const { workload, batch, from, to } of slices) {
    const { columns } = batch
    if (columns === null)
      for (const line of batch.lines.slice(from, to)) chunks.addItem(JSON.stringify(positioned.line(line)))
    else {
      addJson(chunks, columns, from, to, positioned.around(workload))
      positioned.pass(workload, cursorAt(batch, to - 1))
    }
  }
  return chunks.take()
}

/** The lines as `time workload text`, in chunks. */
export function textOf(slices: readonly LogSlice[], shape: ChunkShape): readonly Buffer[] {
  const chunks = new ChunkWriter(shape)
  for (const { workload, batch, from, to } of slices) {
    if (batch.columns !== null) addText(chunks, batch.columns, from, to)
    else for (const { time, text } of batch.lines.slice(from, to)) chunks.addItem(`${time} ${workload} ${text}`)
  }
  return chunks.take()
}

/** How many lines. Neither this nor what follows makes lines of columns. */
export function lengthOf(batch: LogBatch): number {
  return batch.columns === null ? batch.lines.length : batch.columns.length
}

/** In ms since 1970. */
export function timeAt(batch: LogBatch, at: number): number {
  return batch.columns === null ? Date.parse(batch.lines[at]!.time) : batch.columns.times[at]!
}

/** The engine's cursor of a line. */
export function cursorAt(batch: LogBatch, at: number): string {
  if (batch.columns === null) return batch.lines[at]!.cursor
  const { log, outs, errs } = batch.columns
  return `${log}.${outs[at]}.${errs[at]}`
}

/** Up to where the lines from a place on are of no later time than `bound` and have this room; at least one. And their size. */
export function runUpTo(
  batch: LogBatch,
  from: number,
  { bound, room, ofLine }: { readonly bound: number; readonly room: number; readonly ofLine: number },
): { readonly to: number; readonly size: number } {
  const length = lengthOf(batch)
  const isUnbound = bound === Number.POSITIVE_INFINITY
  let size = 0
  let to = from
  do {
    size += sizeAt(batch, to) + ofLine
    to += 1
  } while (to < length && size < room && (isUnbound || timeAt(batch, to) <= bound))
  return { to, size }
}

function sizeAt(batch: LogBatch, at: number): number {
  const { columns } = batch
  // To name `lines` above would make all of them.
  return columns === null ? batch.lines[at]!.text.length : columns.ends[at]! - columns.starts[at]!
}

/** Those of its lines, in their order. */
export function picked(batch: LogBatch, lines: readonly LogLine[]): LogBatch {
  const { columns } = batch
  if (columns === null) return { lines, columns }
  if (lines.length === columns.length) return batch
  const places = new Uint32Array(lines.length)
  let place = -1
  for (const [at, line] of lines.entries()) {
    place = batch.lines.indexOf(line, place + 1)
    places[at] = place
  }
  const of = <Column extends Uint8Array | Uint32Array | Float64Array>(from: Column, to: Column): Column => {
    for (const [at, found] of places.entries()) to[at] = from[found]!
    return to
  }
  const { length } = lines
  return {
    lines,
    columns: {
      ...columns,
      length,
      streams: of(columns.streams, new Uint8Array(length)),
      starts: of(columns.starts, new Uint32Array(length)),
      ends: of(columns.ends, new Uint32Array(length)),
      times: of(columns.times, new Float64Array(length)),
      outs: of(columns.outs, new Float64Array(length)),
      errs: of(columns.errs, new Float64Array(length)),
    },
  }
}
