/** JSON with sorted keys and no spaces: equal values have equal texts. Takes what `JSON.parse` can answer. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}

/** The same for any value: what JSON cannot say (undefined, functions) is left out first. */
export function canonicalJsonOf(value: unknown): string {
  return canonicalJson(JSON.parse(JSON.stringify(value) ?? 'null'))
}
