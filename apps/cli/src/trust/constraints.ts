const constraintsId = Buffer.from('551d1e', 'hex')

/**
 * The domains that an authority may speak for, as its certificate says; null when nothing limits it. Clients hold an authority to them, so one
 * with them cannot speak for a bank.
 */
export function permittedDomains(der: Buffer): readonly string[] | null {
  const constraints = constraintsIn(der)
  const sequence = constraints && read(constraints, 0, 0x30)
  const permitted = sequence && read(sequence, 0, 0xa0)
  const subtrees = permitted && elementsOf(permitted)
  if (!subtrees) return null
  const domains: string[] = []
  const lengths = new Set<number>()
  for (const { tag, content } of subtrees) {
    const [base, ...more] = (tag === 0x30 ? elementsOf(content) : null) ?? []
    if (base === undefined || more.length > 0) return null
    if (base.tag === 0x82) domains.push(base.content.toString('latin1'))
    else if (base.tag === 0x87 && isPrivateBlock(base.content)) lengths.add(base.content.length)
    else return null
  }
  // A kind of names that is not mentioned is not limited: addresses of both kinds have to be.
  if (lengths.size !== 2) return null
  // An empty one is every name, and one of one label all that the internet has below it.
  return domains.length > 0 && domains.every(isNarrow) ? domains : null
}

/** Where the extension stands in a certificate (RFC 5280, 4.1), and only there: its bytes can stand in any other one too. */
function constraintsIn(der: Buffer): Buffer | null {
  const certificate = read(der, 0, 0x30)
  const signed = certificate && read(certificate, 0, 0x30)
  const wrapped = signed && elementsOf(signed)?.find(({ tag }) => tag === 0xa3)?.content
  const extensions = wrapped && read(wrapped, 0, 0x30)
  const all = (extensions && elementsOf(extensions)) ?? []
  const found = all
    .map(({ content }) => elementsOf(content) ?? [])
    .filter(([id]) => id?.tag === 0x06 && id.content.equals(constraintsId))
  const [id, critical, value] = found.length === 1 ? found[0]! : []
  return id !== undefined && critical?.tag === 0x01 && critical.content[0] === 0xff && value?.tag === 0x04
    ? value.content
    : null
}

interface Element {
  readonly tag: number
  readonly content: Buffer
}

/** One behind the other, up to the end; null when that does not come out even. */
function elementsOf(bytes: Buffer): readonly Element[] | null {
  const all: Element[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const content = read(rest, 0, rest[0]!)
    if (content === null) return null
    all.push({ tag: rest[0]!, content })
    rest = rest.subarray(content.byteOffset - rest.byteOffset + content.length)
  }
  return all
}

const privateNames: ReadonlySet<string> = new Set(['localhost', 'test', 'internal', 'local', 'lan'])

function isNarrow(domain: string): boolean {
  return privateNames.has(domain) || /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)
}

/** Address and mask of one of the blocks that authorities of Stackquay are made with, in hexadecimal. */
const privateBlocks: ReadonlySet<string> = new Set([
  '7f000000ff000000',
  '0a000000ff000000',
  'ac100000fff00000',
  'c0a80000ffff0000',
  'a9fe0000ffff0000',
  '64400000ffc00000',
  `${'00'.repeat(15)}01${'ff'.repeat(16)}`,
  `fc${'00'.repeat(15)}fe${'00'.repeat(15)}`,
  `fe80${'00'.repeat(14)}ffc0${'00'.repeat(14)}`,
])

function isPrivateBlock(bytes: Buffer): boolean {
  return privateBlocks.has(bytes.toString('hex'))
}

/** What is in the element at this place, if it is of that kind and whole. */
function read(bytes: Buffer, at: number, tag: number): Buffer | null {
  if (bytes[at] !== tag) return null
  const first = bytes[at + 1] ?? 0x80
  const more = first < 0x80 ? 0 : first & 0x7f
  if (more > 2 || (first >= 0x80 && more === 0) || bytes.length < at + 2 + more) return null
  const length = more === 0 ? first : bytes.readUIntBE(at + 2, more)
  const start = at + 2 + more
  return start + length <= bytes.length ? bytes.subarray(start, start + length) : null
}
