import { isAscii } from 'node:buffer'
import type { LogBatch, LogColumns, LogLine } from '@stackquay/engine-api'

export type MergedBatch = LogBatch & { readonly columns: LogColumns }

/** Lines are made of the columns when they are asked for, once. */
export function batchOf(columns: LogColumns): MergedBatch {
  let lines: readonly LogLine[] | null = null
  return {
    columns,
    get lines() {
      lines ??= linesOf(columns)
      return lines
    },
  }
}

function linesOf(columns: LogColumns): readonly LogLine[] {
  const { ref, length, streams, times, log, outs, errs } = columns
  const texts = [textsOf(columns, 0), textsOf(columns, 1)] as const
  const lines: LogLine[] = []
  let time = Number.NaN
  let timeText = ''
  for (let at = 0; at < length; at++) {
    if (times[at] !== time) {
      time = times[at]!
      timeText = new Date(time).toISOString()
    }
    const stream = streams[at] === 0 ? 'stdout' : 'stderr'
    const text = texts[streams[at]! as 0 | 1](at)
    lines.push({ ref, time: timeText, stream, text, cursor: `${log}.${outs[at]}.${errs[at]}` })
  }
  return lines
}

/** ASCII need not be decoded, which is much faster. */
function textsOf({ printed, starts, ends }: LogColumns, stream: 0 | 1): (at: number) => string {
  const { bytes, latin1 } = printed[stream]
  if (isAscii(bytes)) return (at) => latin1.slice(starts[at], ends[at])
  return (at) => bytes.toString('utf8', starts[at], ends[at])
}
