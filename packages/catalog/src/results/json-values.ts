/** Reading what may be anything: what is not as expected counts as absent. */

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

export function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

export function texts(value: unknown): readonly string[] {
  return list(value).filter((one) => typeof one === 'string')
}

export function milliseconds(value: unknown): number | null {
  return typeof value === 'number' ? value / 1000 : null
}
