import type { ProjectPatch, ProjectView } from '@stackquay/contract'

/** The health check as the fields of a form hold it; empty is the default. */
export interface HealthForm {
  readonly on: boolean
  readonly path: string
  readonly status: string
  readonly interval: string
  readonly failures: string
  readonly timeout: string
}

type Check = ProjectView['healthCheck']
export type CheckPatch = NonNullable<ProjectPatch['healthCheck']>

export function healthFormOf(check: Check): HealthForm {
  return {
    on: check !== null,
    path: check?.path ?? '/',
    status: check?.status ?? '',
    interval: String(check?.intervalSeconds ?? ''),
    failures: String(check?.failures ?? ''),
    timeout: String(check?.timeoutSeconds ?? 60),
  }
}

/** What PATCH takes: an empty field is the default again. */
export function checkOf({ path, status, interval, failures, timeout }: HealthForm): CheckPatch {
  return {
    path: path.trim(),
    timeoutSeconds: Number(timeout),
    status: status.trim() === '' ? null : status.trim(),
    intervalSeconds: interval.trim() === '' ? null : Number(interval),
    failures: failures.trim() === '' ? null : Number(failures),
  }
}

/** Undefined when nothing was changed. */
export function healthChange(form: HealthForm, before: Check): CheckPatch | null | undefined {
  if (!form.on) return before === null ? undefined : null
  const stored = healthFormOf(before)
  return JSON.stringify(form) === JSON.stringify(stored) ? undefined : checkOf(form)
}
