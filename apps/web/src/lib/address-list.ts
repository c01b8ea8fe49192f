/**
 * Whether one of the addresses and blocks takes `address` in, for a warning before they are saved. Null when it cannot be
 * told, because one of them, or the address itself, cannot be read; the service says what is wrong with it.
 */
export function isCovered(ranges: readonly string[], address: string): boolean | null {
  const own = bytesOf(address)
  const read = ranges.map(rangeOf)
  if (own === null || read.includes(null)) return null
  return read.some((range) => range !== null && takesIn(range, own))
}

interface Range {
  readonly bytes: readonly number[]
  readonly bits: number
}

function takesIn({ bytes, bits }: Range, address: readonly number[]): boolean {
  return (
    bytes.length === address.length &&
    bytes.every((byte, index) => {
      const kept = Math.min(8, Math.max(0, bits - index * 8))
      return (byte ^ address[index]!) >> (8 - kept) === 0
    })
  )
}

function rangeOf(text: string): Range | null {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? []
  const bytes = bytesOf(address)
  if (bytes === null) return null
  // `::ffff:192.0.2.0/120` counts its bits from the front of the long form.
  const inside = address.includes(':') && bytes.length === 4 ? 96 : 0
  const bits = prefix === undefined ? bytes.length * 8 : Number(prefix) - inside
  return bits < 0 || bits > bytes.length * 8 ? null : { bytes, bits }
}

/** 4 or 16 bytes; an IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is the IPv4 address. */
function bytesOf(text: string): readonly number[] | null {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) {
    const bytes = text.split('.').map(Number)
    return bytes.every((byte) => byte <= 255) ? bytes : null
  }
  if (!text.includes(':')) return null
  // The parser of addresses knows every spelling, and answers one.
  const host = URL.parse(`http://[${text}]/`)?.hostname
  if (host === undefined) return null
  const [front = '', back] = host.slice(1, -1).split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const head = groups(front)
  const tail = groups(back ?? '')
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
  const bytes = all.flatMap((group) => [group >> 8, group & 255])
  const isInside = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  return isInside ? bytes.slice(12) : bytes
}
