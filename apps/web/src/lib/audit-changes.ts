import { formatExactBytes } from './limits.ts'

/** What an audit entry says has changed, as rows a person can read from top to bottom. */
export type ChangeRow =
  | { readonly kind: 'added'; readonly name: string; readonly after: string }
  | { readonly kind: 'removed'; readonly name: string; readonly before: string }
  | { readonly kind: 'changed'; readonly name: string; readonly before: string; readonly after: string }
  /** Neither before nor after: a circumstance, such as the reason of a refusal. */
  | { readonly kind: 'note'; readonly name: string; readonly value: string }

/**
 * Entries come in three forms: `{before, after}` of a whole thing, `{<name>: {before, after}}` for single settings, and
 * names with values that only accompany the act. They may be mixed.
 */
export function changeRows(changes: unknown): readonly ChangeRow[] {
  if (changes === null || changes === undefined) return []
  if (!isRecord(changes)) return [{ kind: 'note', name: '', value: textOf(changes) }]
  if (isPair(changes)) return compare('', changes.before, changes.after)
  return Object.entries(changes).flatMap(([name, value]) =>
    isPair(value) ? compare(name, value.before, value.after) : notes(name, value),
  )
}

function compare(name: string, before: unknown, after: unknown): ChangeRow[] {
  if (isNone(before) && isNone(after)) return []
  if ((isRecord(before) || isNone(before)) && (isRecord(after) || isNone(after))) {
    const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
    return [...keys].flatMap((key) => compare(below(name, key), before?.[key], after?.[key]))
  }
  if (isNone(before)) return [{ kind: 'added', name, after: textOf(after, name) }]
  if (isNone(after)) return [{ kind: 'removed', name, before: textOf(before, name) }]
  const [was, is] = [textOf(before, name), textOf(after, name)]
  return was === is ? [] : [{ kind: 'changed', name, before: was, after: is }]
}

function notes(name: string, value: unknown): ChangeRow[] {
  if (isNone(value)) return []
  if (isRecord(value)) return Object.entries(value).flatMap(([key, inner]) => notes(below(name, key), inner))
  return [{ kind: 'note', name, value: textOf(value, name) }]
}

function below(name: string, key: string): string {
  return name === '' ? key : `${name}.${key}`
}

function textOf(value: unknown, name = ''): string {
  if (typeof value === 'number' && name.endsWith('Bytes')) return formatExactBytes(value)
  if (typeof value === 'string') return value === '' ? '""' : value
  const plainList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  return plainList ? value.join(', ') : JSON.stringify(value)
}

function isNone(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPair(value: unknown): value is { readonly before?: unknown; readonly after?: unknown } {
  if (!isRecord(value)) return false
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => key === 'before' || key === 'after')
}
