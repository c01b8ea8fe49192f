import { isSpan, type LogLevel, levels, type Span } from './log-query.ts'

/** What is searched for in the logs of all projects; it stands in the address. */
export interface AllLogsSearch {
  readonly q?: string
  readonly regex?: true
  readonly level?: LogLevel
  readonly since?: Span
  /** Only this one. */
  readonly project?: string
}

export function readAllLogsSearch(search: Readonly<Record<string, unknown>>): AllLogsSearch {
  const { q, regex, level, since, project } = search
  return {
    ...(typeof q === 'string' && q !== '' ? { q: q.slice(0, 200) } : {}),
    // A search for a number arrives as one.
    ...(typeof q === 'number' ? { q: String(q) } : {}),
    ...(regex === true ? { regex } : {}),
    ...(levels.some((known) => known === level) ? { level: level as LogLevel } : {}),
    ...(typeof since === 'string' && isSpan(since) ? { since } : {}),
    ...(typeof project === 'string' && /^[\w-]{1,80}$/.test(project) ? { project } : {}),
  }
}
