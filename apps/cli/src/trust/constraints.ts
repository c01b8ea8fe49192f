/** DER of the id of name constraints (2.5.29.30), then "critical". */
const constraintsOf = Buffer.from('0603551d1e0101ff', 'hex')

/**
 * The domains that an authority may speak for, as its certificate says; null when nothing limits it. Clients hold an authority to them, so one
 * with them cannot speak for a bank.
 */
export function permittedDomains(der: Buffer): readonly string[] | null {
  const at = der.indexOf(constraintsOf)
  if (at < 0 || der.indexOf(constraintsOf, at + 1) >= 0) return null
  const octets = read(der, at + constraintsOf.length, 0x04)
  const sequence = octets && read(octets, 0, 0x30)
  const permitted = sequence && read(sequence, 0, 0xa0)
  if (!permitted) return null
  const domains: string[] = []
  for (let rest = permitted; rest.length > 0; ) {
    const subtree = read(rest, 0, 0x30)
    if (subtree === null) return null
    const name = read(subtree, 0, 0x82)
    if (name !== null) domains.push(name.toString('latin1'))
    rest = rest.subarray(rest.indexOf(subtree) + subtree.length)
  }
  // An empty one is every name, and one of one label all that the internet has below it.
  return domains.length > 0 && domains.every(isNarrow) ? domains : null
}

const privateNames: ReadonlySet<string> = new Set(['localhost', 'test', 'internal', 'local', 'lan'])

function isNarrow(domain: string): boolean {
  return privateNames.has(domain) || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)
}

/** What is in the element at this place, if it is of that kind and whole. */
function read(bytes: Buffer, at: number, tag: number): Buffer | null {
  if (bytes[at] !== tag) return null
  const first = bytes[at + 1] ?? 0x80
  const more = first < 0x80 ? 0 : first & 0x7f
  if (more > 2 || (first >= 0x80 && more === 0)) return null
  const length = more === 0 ? first : bytes.readUIntBE(at + 2, more)
  const start = at + 2 + more
  return start + length <= bytes.length ? bytes.subarray(start, start + length) : null
}
