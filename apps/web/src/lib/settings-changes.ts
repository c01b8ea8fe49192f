type Fields = Readonly<Record<string, unknown>>

/**
 * What a PATCH must carry to make `form` out of `stored`: changed fields alone, objects field by field, lists whole.
 * Null when there is nothing to change.
 */
export function changesOf(stored: Fields, form: Fields): Record<string, unknown> | null {
  const changes: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(form)) {
    const before = stored[key]
    if (isObject(value) && isObject(before)) {
      const inner = changesOf(before, value)
      const removed = Object.keys(before).filter((name) => !(name in value))
      const all = { ...inner, ...Object.fromEntries(removed.map((name) => [name, null])) }
      if (Object.keys(all).length > 0) changes[key] = all
    } else if (!equal(before, value)) changes[key] = value
  }
  return Object.keys(changes).length === 0 ? null : changes
}

export function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => equal(item, other[index]))
  }
  if (isObject(one) && isObject(other)) {
    const keys = Object.keys(one)
    return keys.length === Object.keys(other).length && keys.every((key) => key in other && equal(one[key], other[key]))
  }
  return false
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
