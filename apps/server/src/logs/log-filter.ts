import type { LogLine } from '@stackquay/contract'
import { isAtLeast, levelOf } from '@stackquay/domain/log-level'
import type { LogLine as EngineLine } from '@stackquay/engine-api'
import type { Match } from './log-match.ts'

export interface LogQuery {
  readonly workload?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly q?: string | undefined
  readonly regex?: boolean | undefined
  readonly level?: LogLine['level'] | undefined
}

/** Those of a batch that fit, in their order. */
export type LogFilter = (
  lines: readonly EngineLine[],
  signal: AbortSignal,
) => readonly EngineLine[] | Promise<readonly EngineLine[]>

/** Null when every line fits. `match` searches for `q` when that is a regular expression. */
export function logFilter(query: LogQuery, match: Match | null): LogFilter | null {
  const tests: ((line: EngineLine) => boolean)[] = []
  const { level } = query
  if (query.since !== undefined) {
    const since = isoTime(query.since)
    tests.push((line) => line.time >= since)
  }
  if (query.until !== undefined) {
    const until = isoTime(query.until)
    tests.push((line) => line.time <= until)
  }
  if (query.q !== undefined && query.q !== '' && match === null) tests.push(containing(query.q))
  if (level !== undefined && level !== null) tests.push((line) => isAtLeast(levelOf(line.text), level))
  const plain = (lines: readonly EngineLine[]) => lines.filter((line) => tests.every((test) => test(line)))
  if (match === null) return tests.length === 0 ? null : plain
  return async (lines, signal) => {
    const left = tests.length === 0 ? lines : plain(lines)
    const hits = await match(
      left.map((line) => line.text),
      signal,
    )
    return left.filter((_, at) => hits[at] === 1)
  }
}

/** Times of lines have milliseconds and are UTC, so that they compare as text. */
export function isoTime(text: string): string {
  return new Date(text).toISOString()
}

function containing(q: string): (line: EngineLine) => boolean {
  const wanted = q.toLowerCase()
  return (line) => line.text.toLowerCase().includes(wanted)
}
