import type { LogLine } from '@stackquay/contract'
import { levelOf } from '@stackquay/domain/log-level'
import type { LogLine as EngineLine } from '@stackquay/engine-api'
import type { Around } from './log-encode.ts'
import { type LogPosition, writePosition } from './log-position.ts'

/** Gives lines their positions in all logs together, so that a reader can go on after any of them. */
export interface Positioned {
  line(line: EngineLine): LogLine
  /** What stands around the own cursors of this workload's next lines. */
  around(workload: string): Around
  /** These lines were passed without `line`; the last one's own cursor. */
  pass(workload: string, cursor: string): void
}

export function positionedFrom(from: LogPosition): Positioned {
  const cursors: Record<string, string> = { ...from.cursors }
  let known = ''
  let around: Around = { front: '', back: '' }
  /** Stays the same until a line of another workload comes. */
  const aroundOf = (workload: string): Around => {
    if (workload === known) return around
    known = workload
    const text = writePosition({ time: from.time, cursors: { ...cursors, [workload]: hole } })
    const at = text.indexOf(hole)
    around = { front: text.slice(0, at), back: text.slice(at + hole.length) }
    return around
  }
  return {
    line: ({ ref: { workload }, time, stream, text, cursor }) => {
      const { front, back } = aroundOf(workload)
      cursors[workload] = cursor
      return { workload, time, stream, text, level: levelOf(text), cursor: front + cursor + back }
    },
    around: aroundOf,
    pass: (workload, cursor) => {
      cursors[workload] = cursor
    },
  }
}

/** In no name and no cursor. */
const hole = '\u0000'
