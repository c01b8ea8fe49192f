import type { AuditEntry } from '@stackquay/contract'

export type Outcome = AuditEntry['outcome']
export const outcomes = ['success', 'failure', 'denied'] as const satisfies readonly Outcome[]

/** Seconds back from now. */
const periodSeconds = { hour: 3600, day: 86_400, week: 7 * 86_400, month: 30 * 86_400 } as const
export const periods = ['hour', 'day', 'week', 'month', 'custom'] as const
export type Period = (typeof periods)[number]

/** What of the audit log is looked at; it stands in the address, so that a view can be passed on. */
export interface AuditFilter {
  readonly q?: string
  readonly actor?: string
  readonly action?: string
  readonly project?: string
  readonly outcome?: Outcome
  /** `custom` means `since` and `until`, which are RFC 3339 times. */
  readonly period?: Period
  readonly since?: string
  readonly until?: string
}

export type AuditQuery = Omit<AuditFilter, 'period'>

/** Of an address anybody may have typed: what is not understood is left out. */
export function readAuditFilter(search: Readonly<Record<string, unknown>>): AuditFilter {
  const period = periods.find((known) => known === search.period)
  return defined({
    q: text(search.q, 200),
    actor: text(search.actor, 200),
    action: text(search.action, 100),
    project: text(search.project, 60),
    outcome: outcomes.find((known) => known === search.outcome),
    period,
    since: period === 'custom' ? moment(search.since) : undefined,
    until: period === 'custom' ? moment(search.until) : undefined,
  })
}

/** A period counts back from the moment of asking. */
export function auditQueryOf({ period, ...filter }: AuditFilter, now: number): AuditQuery {
  if (period === undefined || period === 'custom') return filter
  return { ...filter, since: new Date(now - periodSeconds[period] * 1000).toISOString() }
}

export function isNarrowed(filter: AuditFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

/** The value of a `datetime-local` input, in the reader's time zone. */
export function toLocalInput(time: string | undefined): string {
  if (time === undefined) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export function fromLocalInput(value: string): string | undefined {
  const at = value === '' ? Number.NaN : new Date(value).getTime()
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** The router reads `q=42` as a number. */
function text(value: unknown, most: number): string | undefined {
  const read = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return typeof read === 'string' && read !== '' ? read.slice(0, most) : undefined
}

function moment(value: unknown): string | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
