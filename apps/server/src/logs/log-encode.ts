import { allLevels, levelOf } from '@stackquay/domain/log-level'
import type { LogColumns, Printed } from '@stackquay/engine-api'
import type { ChunkWriter } from './log-chunks.ts'
import { type LevelSigns, levelSigns } from './log-level-signs.ts'

/*
 * Lines of a log, made for the wire out of the bytes that the program printed. A log holds millions of lines, and making
 * an object and some strings of each would take several times as long as reading and sending it. So what is the same in
 * neighbouring lines is made once, and everything is copied by bytes; most lines are nowhere looked at character by
 * character.
 *
 * What it promises: `addJson` writes what `JSON.stringify` writes of the same `LogLine`, byte for byte, and `addText` the
 * same text that is in there. The tests compare them.
 */

/** What stands around a line's own cursor: the other workloads' positions. */
export interface Around {
  readonly front: string
  readonly back: string
}

/** Adds lines `from` to `to` (not included) as JSON objects, as they are in frames and downloads. */
export function addJson(into: ChunkWriter, columns: LogColumns, from: number, to: number, around: Around): void {
  const { ref, streams, printed, starts, ends, times, log, outs, errs } = columns
  const name = JSON.stringify(ref.workload)
  const heads = ['stdout', 'stderr'].map((stream) =>
    headWith((time) => `{"workload":${name},"time":"${time}","stream":"${stream}","text":"`),
  )
  const tailOf = (level: string | null) =>
    Buffer.from(`","level":${JSON.stringify(level)},"cursor":"${around.front}${log}.`)
  const tails = new Map(allLevels.map((level) => [level, tailOf(level)]))
  const noLevel = tailOf(null)
  const back = Buffer.from(`${around.back}"}`)
  const signs = printed.map(signsOf)
  for (let line = from; line < to; line++) {
    const stream = streams[line]! as 0 | 1
    const { bytes, isPlain } = printed[stream]
    const start = starts[line]!
    const end = ends[line]!
    const head = heads[stream]!(times[line]!)
    const level = signs[stream]!(start, end) ? levelOf(textOf(printed[stream], start, end)) : null
    const tail = level === null ? noLevel : tails.get(level)!
    const escaped = isPlain ? null : escapedText(printed[stream], start, end)
    const length = escaped === null ? end - start : escaped.length
    into.begin(head.length + length + tail.length + back.length + 2 * longestNumber + 1)
    const target = into.bytes
    let at = into.size
    target.set(head, at)
    at += head.length
    if (escaped === null) bytes.copy(target, at, start, end)
    else target.set(escaped, at)
    at += length
    target.set(tail, at)
    at = putNumber(target, at + tail.length, outs[line]!)
    target[at] = dot
    at = putNumber(target, at + 1, errs[line]!)
    target.set(back, at)
    into.size = at + back.length
  }
}

/** Adds the same lines as text: their time, workload and what was printed. */
export function addText(into: ChunkWriter, columns: LogColumns, from: number, to: number): void {
  const { ref, streams, printed, starts, ends, times } = columns
  const headAt = headWith((time) => `${time} ${ref.workload} `)
  for (let line = from; line < to; line++) {
    const { bytes, isPlain } = printed[streams[line]! as 0 | 1]
    const [start, end] = [starts[line]!, ends[line]!]
    const head = headAt(times[line]!)
    const text = isPlain ? bytes.subarray(start, end) : Buffer.from(bytes.toString('utf8', start, end))
    into.begin(head.length + text.length)
    into.bytes.set(head, into.size)
    into.bytes.set(text, into.size + head.length)
    into.size += head.length + text.length
  }
}

/** Kept from one part of the lines to the next, so that nothing is searched twice. */
function signsOf(printed: Printed): LevelSigns {
  const signs = knownSigns.get(printed) ?? levelSigns(printed.latin1)
  knownSigns.set(printed, signs)
  return signs
}

const knownSigns = new WeakMap<Printed, LevelSigns>()

/** What stands in front of a line; neighbouring lines mostly have the same time. */
function headWith(write: (time: string) => string): (time: number) => Buffer {
  let head = Buffer.alloc(0)
  let headTime = Number.NaN
  return (time) => {
    if (time !== headTime) {
      headTime = time
      head = Buffer.from(write(new Date(time).toISOString()))
    }
    return head
  }
}

/** With what is not UTF-8 replaced. */
function textOf({ bytes }: Printed, start: number, end: number): string {
  return bytes.toString('utf8', start, end)
}

/** As it stands between the quotes. */
function escapedText(printed: Printed, start: number, end: number): Buffer {
  const json = Buffer.from(JSON.stringify(textOf(printed, start, end)))
  return json.subarray(1, json.length - 1)
}

/** Digits of the largest number that has an exact value. */
const longestNumber = 16
const billion = 1e9
const zero = 0x30
const dot = 0x2e

function putNumber(target: Buffer, at: number, value: number): number {
  if (value < billion) return putDigits(target, at, value, digitsIn(value))
  // What is below that fits into whole numbers of the processor.
  const high = Math.floor(value / billion)
  return putDigits(target, putNumber(target, at, high), value - high * billion, 9)
}

function digitsIn(value: number): number {
  let digits = 1
  for (let limit = 10; value >= limit; limit *= 10) digits += 1
  return digits
}

function putDigits(target: Buffer, at: number, value: number, digits: number): number {
  let left = value | 0
  for (let place = at + digits - 1; place >= at; place--) {
    const next = (left / 10) | 0
    target[place] = zero + left - 10 * next
    left = next
  }
  return at + digits
}
