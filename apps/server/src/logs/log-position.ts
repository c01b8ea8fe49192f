import { ProblemError } from '@stackquay/contract'
import type { LogOptions } from '@stackquay/engine-api'

/**
 * Where reading stands in several logs at once. Of a log that no line was read from yet, everything counts that is not
 * older than where reading began.
 */
export interface LogPosition {
  /** Time of the first line that was read, RFC 3339; null before there was one. */
  readonly time: string | null
  /** Workload → the engine's cursor of the last line that was read. */
  readonly cursors: Readonly<Record<string, string>>
}

/** As text for a URL: `time@workload:cursor,workload:cursor`. Equal positions have equal texts. */
export function writePosition({ time, cursors }: LogPosition): string {
  return `${time ?? ''}@${Object.keys(cursors)
    .sort()
    .map((workload) => `${workload}:${cursors[workload]}`)
    .join(',')}`
}

/** Throws `invalid_request` for anything `writePosition` does not write. */
export function readPosition(text: string): LogPosition {
  const cut = text.indexOf('@')
  const time = text.slice(0, cut)
  const parts = text.slice(cut + 1).split(',')
  const pairs = parts.filter((part) => part !== '').map((part) => part.split(':'))
  const sound =
    cut >= 0 &&
    (time === '' || !Number.isNaN(Date.parse(time))) &&
    pairs.every((pair) => pair.length === 2 && pair[0] !== '' && pair[1] !== '')
  if (!sound)
    throw new ProblemError('invalid_request', 'The cursor is not one of this log.', {
      hint: 'Send "cursor" or "nextCursor" as it was answered.',
    })
  return { time: time === '' ? null : time, cursors: Object.fromEntries(pairs as [string, string][]) }
}

/** What an engine is told to read on in one workload's log. */
export function optionsAfter(from: LogPosition, workload: string): LogOptions {
  const after = from.cursors[workload]
  if (after !== undefined) return { after }
  return from.time === null ? {} : { since: from.time }
}

/**
 * The position after everything up to now was read, the newest of it at `newest`. A workload of which there was no line may
 * get one that is noted a moment late, therefore the second between.
 */
export function settledPosition(
  cursors: LogPosition['cursors'],
  before: string | null,
  newest: string | null,
): LogPosition {
  if (newest === null) return { time: before, cursors }
  const time = new Date(Math.floor(Date.parse(newest) / 1000) * 1000 - 1000).toISOString()
  return { time: before !== null && before > time ? before : time, cursors }
}
