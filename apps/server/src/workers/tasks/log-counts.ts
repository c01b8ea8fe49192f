import { levelOf } from '@stackquay/domain/log-level'
import { type CountedError, type CountedLevel, countedLevels, errorPattern } from '@stackquay/domain/log-stats'

/** Lines of one workload as they lie in up to two texts; the same place in each list is the same line. */
export interface LogLinesBlock {
  readonly workload: string
  readonly texts: readonly [string, string]
  /** A character stands for a byte of UTF-8. */
  readonly isLatin1: boolean
  readonly streams: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  /** Milliseconds since 1970. */
  readonly times: Float64Array
}

export interface LogCountsQuestion {
  readonly blocks: readonly LogLinesBlock[]
  readonly from: number
  readonly stepMs: number
  readonly steps: number
}

export interface LogCountsAnswer {
  /** Of each level one after the other, a number a step. */
  readonly counts: Uint32Array<ArrayBuffer>
  readonly errors: readonly CountedError[]
}

const shownText = 500

/** Counts lines by level and time, and errors that are alike: of millions of lines that is seconds of work. */
export function run({ blocks, from, stepMs, steps }: LogCountsQuestion): LogCountsAnswer {
  const counts = new Uint32Array(countedLevels.length * steps)
  const errors = new Map<string, Counting>()
  for (const block of blocks) {
    for (let line = 0; line < block.times.length; line++) {
      const time = block.times[line]!
      const step = Math.floor((time - from) / stepMs)
      if (step < 0 || step >= steps) continue
      const text = block.texts[block.streams[line]! as 0 | 1].slice(block.starts[line], block.ends[line])
      const level: CountedLevel = levelOf(text) ?? 'none'
      counts[countedLevels.indexOf(level) * steps + step]! += 1
      if (level === 'error') count(errors, readable(text, block.isLatin1), block.workload, time)
    }
  }
  return { counts, errors: [...errors.values()] }
}

type Counting = { -readonly [Key in keyof CountedError]: CountedError[Key] }

function count(errors: Map<string, Counting>, text: string, workload: string, time: number): void {
  const pattern = errorPattern(text)
  const known = errors.get(pattern)
  if (known === undefined) {
    errors.set(pattern, { pattern, text, workload, count: 1, firstAt: time, lastAt: time })
    return
  }
  known.count += 1
  if (time >= known.lastAt) Object.assign(known, { text, workload, lastAt: time })
  known.firstAt = Math.min(known.firstAt, time)
}

function readable(text: string, isLatin1: boolean): string {
  const start = text.slice(0, shownText)
  return isLatin1 ? Buffer.from(start, 'latin1').toString('utf8') : start
}
