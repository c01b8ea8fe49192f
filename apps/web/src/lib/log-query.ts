import type { LogLine } from '@stackquay/contract'

export type LogLevel = NonNullable<LogLine['level']>
/** The worst first. The contract's own list would bring all its schemas into the page; a test compares them. */
export const levels = ['error', 'warning', 'info', 'debug'] as const satisfies readonly LogLevel[]

/** What stands in the address of the log view, so that a view can be shared, reloaded and gone back to. */
export interface LogSearch {
  readonly workload?: string
  readonly q?: string
  readonly regex?: true
  readonly level?: LogLevel
  /** A span such as `15m`, counted from when the view is opened, or a time. */
  readonly since?: string
  readonly until?: string
}

export const spans = { '15m': 15 * 60, '1h': 3600, '24h': 86_400, '7d': 7 * 86_400 } as const
export type Span = keyof typeof spans

export function isSpan(text: string | undefined): text is Span {
  return text !== undefined && Object.hasOwn(spans, text)
}

export function readLogSearch(search: Readonly<Record<string, unknown>>): LogSearch {
  const { workload, q, regex, level, since, until } = search
  return {
    ...(typeof workload === 'string' && workload !== '' ? { workload } : {}),
    ...(typeof q === 'string' && q !== '' ? { q: q.slice(0, 200) } : {}),
    // A search for a number arrives as one.
    ...(typeof q === 'number' ? { q: String(q) } : {}),
    ...(regex === true ? { regex } : {}),
    ...(levels.some((known) => known === level) ? { level: level as LogLevel } : {}),
    ...(typeof since === 'string' && (isSpan(since) || isTime(since)) ? { since } : {}),
    ...(typeof until === 'string' && isTime(until) ? { until } : {}),
  }
}

export interface LogQuery {
  readonly workload?: string
  readonly q?: string
  readonly regex?: 'true'
  readonly level?: LogLevel
  readonly since?: string
  readonly until?: string
}

/** What the service is asked for. */
export function logQueryOf({ since, regex, ...search }: LogSearch, now: number): LogQuery {
  return {
    ...search,
    ...(regex && search.q !== undefined ? { regex: 'true' } : {}),
    ...(since === undefined
      ? {}
      : { since: isSpan(since) ? new Date(now - spans[since] * 1000).toISOString() : since }),
  }
}

export function isFiltered({ workload: _, ...search }: LogSearch): boolean {
  return Object.keys(search).length > 0
}

/** The value of a date and time field in the reader's own time zone, and back. */
export function localTime(time: string | undefined): string {
  if (time === undefined || !isTime(time)) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
export function timeOf(local: string): string | undefined {
  const date = new Date(local)
  return local === '' || Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text))
}
