import type { FieldError, ProjectPatch } from '@stackquay/contract'

/** The check of the server of a project, over HTTP. What is absent is as by default. */
export interface HealthCheckSpec {
  /** With its query. */
  readonly path: string
  /** How long a start may take. */
  readonly timeoutSeconds: number
  /** Statuses that count as healthy, in their canonical form: `200-299, 304`. */
  readonly status?: string
  readonly intervalSeconds?: number
  /** Failed checks in a row after which it counts as down. */
  readonly failures?: number
}

/** Lowest and highest; both count. */
export type StatusRange = readonly [number, number]

export const healthCheckDefaults = {
  timeoutSeconds: 60,
  status: '200-399',
  intervalSeconds: 15,
  failures: 3,
} as const

/** Ranges in the order they were named; null for what names none. */
export function statusRanges(text: string): readonly StatusRange[] | null {
  const ranges = text.split(',').map((part) => {
    const found = /^\s*(\d{3})\s*(?:-\s*(\d{3})\s*)?$/.exec(part)
    if (found === null) return null
    const lowest = Number(found[1])
    const highest = Number(found[2] ?? found[1])
    return lowest >= 100 && highest <= 599 && lowest <= highest ? ([lowest, highest] as const) : null
  })
  return ranges.every((range) => range !== null) ? ranges : null
}

export function statusText(ranges: readonly StatusRange[]): string {
  return ranges.map(([lowest, highest]) => (lowest === highest ? `${lowest}` : `${lowest}-${highest}`)).join(', ')
}

export function isExpectedStatus(status: number, ranges: readonly StatusRange[]): boolean {
  return ranges.some(([lowest, highest]) => status >= lowest && status <= highest)
}

type Patch = ProjectPatch['healthCheck']

/** What a patch makes of it. Null for a field is its default again; what is as by default is not kept. */
export function mergeHealthCheck(
  before: HealthCheckSpec | null,
  patch: Patch,
  errors: FieldError[],
  pointer = '/healthCheck',
): HealthCheckSpec | null {
  if (patch === undefined) return before
  if (patch === null) return null
  const path = patch.path ?? before?.path
  if (path === undefined)
    errors.push({ pointer: `${pointer}/path`, code: 'required', detail: 'A health check needs a path, such as "/".' })
  const status = mergedStatus(before?.status, patch.status)
  if (status === null)
    errors.push({
      pointer: `${pointer}/status`,
      code: 'invalid',
      detail: 'Name statuses from 100 to 599 and ranges of them, the lower first: "200-299, 304".',
    })
  if (path === undefined || status === null) return before
  const intervalSeconds = merged(before, patch, 'intervalSeconds')
  const failures = merged(before, patch, 'failures')
  return {
    path,
    timeoutSeconds: patch.timeoutSeconds ?? before?.timeoutSeconds ?? healthCheckDefaults.timeoutSeconds,
    ...(status === healthCheckDefaults.status ? {} : { status }),
    ...(intervalSeconds === healthCheckDefaults.intervalSeconds ? {} : { intervalSeconds }),
    ...(failures === healthCheckDefaults.failures ? {} : { failures }),
  }
}

function mergedStatus(before: string | undefined, sent: NonNullable<Patch>['status']): string | null {
  if (sent === undefined) return before ?? healthCheckDefaults.status
  if (sent === null) return healthCheckDefaults.status
  const ranges = statusRanges(String(sent))
  return ranges === null ? null : statusText(ranges)
}

function merged(
  before: HealthCheckSpec | null,
  patch: NonNullable<Patch>,
  field: 'intervalSeconds' | 'failures',
): number {
  const sent = patch[field]
  return (sent === undefined ? before?.[field] : sent) ?? healthCheckDefaults[field]
}

/** The patch of a project file: what was set and is not in the file is as by default again. */
export function healthCheckOfFile(sent: NonNullable<Patch>, before: HealthCheckSpec): NonNullable<Patch> {
  return {
    ...(before.status === undefined ? {} : { status: null }),
    ...(before.intervalSeconds === undefined ? {} : { intervalSeconds: null }),
    ...(before.failures === undefined ? {} : { failures: null }),
    ...sent,
  }
}
