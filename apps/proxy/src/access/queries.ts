/** Queries to the control socket about the requests of a project, and their answers. */
export interface AccessQuery {
  /** From here on; ISO 8601. */
  readonly since?: string | undefined
  /** Up to and including. */
  readonly until?: string | undefined
  /** `404` or `5xx`. */
  readonly status?: string | undefined
  /** Part of host, path, client or user agent, whatever the case. */
  readonly q?: string | undefined
  /** Id of a share. */
  readonly share?: string | undefined
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly before?: string | undefined
}

export interface AccessLine {
  /** When the exchange ended. */
  readonly time: string
  readonly host: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly seconds: number
  readonly bytes: number
  readonly client: string
  readonly userAgent: string | null
  readonly via: 'domain' | 'share'
  readonly share: string | null
  readonly by: string | null
}

export interface AccessPage {
  readonly items: readonly AccessLine[]
  /** Where older ones begin. There may be none that match: an answer ends after a second, however little it found. */
  readonly next: string | null
}

/** Times in seconds since 1970. */
export interface TrafficQuery {
  readonly from: number
  readonly to: number
  readonly step: number
}

export interface TrafficPoint {
  readonly time: string
  readonly requests: number
  readonly bytes: number
  readonly status2xx: number
  readonly status3xx: number
  readonly status4xx: number
  readonly status5xx: number
  /** Seconds. */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export interface TrafficAnswer {
  readonly stepSeconds: number
  readonly items: readonly TrafficPoint[]
  readonly total: Omit<TrafficPoint, 'time'>
}

export interface Viewer {
  readonly address: string
  readonly userAgent: string | null
  readonly first: string
  readonly last: string
  readonly requests: number
}

export interface ViewersAnswer {
  /** The newest first, at most 500. */
  readonly items: readonly Viewer[]
}

export class QueryError extends Error {
  override readonly name = 'QueryError'
}

/** No id leads out of the folder of the logs. */
export function isProjectId(text: string): boolean {
  return /^[a-z0-9_-]{1,60}$/.test(text)
}

export function readProject(parameters: URLSearchParams): string {
  const project = parameters.get('project') ?? ''
  if (!isProjectId(project)) throw new QueryError('"project" must be the id of a project.')
  return project
}

export function readAccessQuery(parameters: URLSearchParams): AccessQuery {
  const limit = Number(parameters.get('limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw new QueryError('"limit" must be from 1 to 1000.')
  const status = parameters.get('status') ?? undefined
  if (status !== undefined && !/^[1-5](xx|\d\d)$/.test(status)) {
    throw new QueryError('"status" must be like 404 or 5xx.')
  }
  const before = parameters.get('before') ?? undefined
  if (before !== undefined && !/^\d{1,8}\.\d{1,15}$/.test(before)) {
    throw new QueryError('"before" must be what "next" said.')
  }
  return {
    since: readTime(parameters, 'since'),
    until: readTime(parameters, 'until'),
    status,
    q: parameters.get('q') ?? undefined,
    share: parameters.get('share') ?? undefined,
    limit,
    before,
  }
}

export function readTrafficQuery(parameters: URLSearchParams): TrafficQuery {
  const [from, to, step] = ['from', 'to', 'step'].map((name) => {
    const value = Number(parameters.get(name) ?? Number.NaN)
    if (!Number.isInteger(value) || value < 0 || value > 1e11) throw new QueryError(`"${name}" must be whole seconds.`)
    return value
  }) as [number, number, number]
  if (step < 60 || step % 60 !== 0) throw new QueryError('"step" must be whole minutes, in seconds.')
  if (to <= from || (to - from) / step > 2_000) throw new QueryError('From "from" to "to" are 1 to 2000 steps.')
  return { from, to, step }
}

export function readShare(parameters: URLSearchParams): string {
  const share = parameters.get('share') ?? ''
  if (!/^[A-Za-z0-9_-]{1,80}$/.test(share)) throw new QueryError('"share" must be the id of a share.')
  return share
}

/** As the lines have it, so that texts can be compared. */
function readTime(parameters: URLSearchParams, name: string): string | undefined {
  const text = parameters.get(name)
  if (text === null) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new QueryError(`"${name}" must be a time, like 2026-01-31T12:00:00Z.`)
  return new Date(time).toISOString()
}
