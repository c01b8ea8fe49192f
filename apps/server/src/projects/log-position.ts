import { ProblemError } from '@stackquay/contract'

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

/** As text for a URL: `time@workload:cursor,workload:cursor`. */
export function writePosition({ time, cursors }: LogPosition): string {
  return `${time ?? ''}@${Object.entries(cursors)
    .map(([workload, cursor]) => `${workload}:${cursor}`)
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
