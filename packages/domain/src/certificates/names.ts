/** Whether a name of a certificate stands for a host: the same name, or a wildcard for exactly one label. */
export function nameCovers(name: string, host: string): boolean {
  if (name === host) return true
  if (!name.startsWith('*.')) return false
  const cut = host.indexOf('.')
  return cut > 0 && !host.startsWith('*') && host.slice(cut) === name.slice(1)
}

export function namesCover(names: readonly string[], host: string): boolean {
  return names.some((name) => nameCovers(name, host))
}

/**
 * The wildcard that stands for a host; null where none is believed: clients take no wildcard right below a single label, such as
 * `*.localhost` or `*.test`.
 */
export function wildcardOf(host: string): string | null {
  const parent = host.slice(host.indexOf('.') + 1)
  return host.includes('.') && takesWildcard(parent) ? `*.${parent}` : null
}

export function takesWildcard(parent: string): boolean {
  return parent.includes('.')
}

/** Whether a name, or one with a wildcard, is a domain or lies below it. */
export function liesBelow(name: string, domain: string): boolean {
  const plain = name.replace(/^\*\./, '')
  return plain === domain || plain.endsWith(`.${domain}`)
}
