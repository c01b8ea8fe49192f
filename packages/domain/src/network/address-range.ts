import { isIP, isIPv4 } from 'node:net'

/**
 * An address or block as it is kept: `192.0.2.0/24`, `2001:db8::/32`. An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is
 * the IPv4 address. Bits behind the prefix must be zero, because `10.0.0.5/8` is most likely a slip.
 */
export type AddressRangeResult =
  | { readonly ok: true; readonly range: string }
  | { readonly ok: false; readonly detail: string }

export function readAddressRange(text: string): AddressRangeResult {
  const [address = '', prefix, ...more] = text.trim().split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more.length > 0)
    return {
      ok: false,
      detail: `${JSON.stringify(text.slice(0, 80))} is neither an address nor a block such as 192.0.2.0/24 or 2001:db8::/32.`,
    }
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix))
    return { ok: false, detail: `Behind "/" of ${JSON.stringify(text.slice(0, 80))} stands no number.` }
  const isInside = family === 6 && isMapped(bytesOf(address))
  const all = family === 4 ? 32 : 128
  const wanted = prefix === undefined ? all : Number(prefix)
  if (wanted > all || (isInside && wanted < 96))
    return { ok: false, detail: `The prefix of ${JSON.stringify(text)} must be ${isInside ? '96' : '0'} to ${all}.` }
  const bytes = isInside ? bytesOf(address).slice(12) : bytesOf(address)
  const bits = isInside ? wanted - 96 : wanted
  const first = masked(bytes, bits)
  if (first.some((byte, index) => byte !== bytes[index]))
    return {
      ok: false,
      detail: `${JSON.stringify(text)} has bits behind its prefix. Did you mean ${textOf(first)}/${bits}?`,
    }
  return { ok: true, range: bits === bytes.length * 8 ? textOf(bytes) : `${textOf(bytes)}/${bits}` }
}

/** 4 or 16 bytes of an address that `isIP` has accepted. */
export function bytesOf(address: string): readonly number[] {
  if (isIPv4(address)) return address.split('.').map(Number)
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  const plain = dotted === null ? address : dotted[1]! + pairsOf(dotted[2]!.split('.').map(Number)).join(':')
  const [head = '', tail] = plain.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const middle = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0')
  return [...front, ...middle, ...back].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

function pairsOf([a = 0, b = 0, c = 0, d = 0]: readonly number[]): readonly string[] {
  return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)]
}

function isMapped(bytes: readonly number[]): boolean {
  return bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
}

function masked(bytes: readonly number[], bits: number): readonly number[] {
  return bytes.map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8))
    return byte & (0xff00 >> kept) & 0xff
  })
}

/** RFC 5952: the longest run of zero groups becomes `::`. */
function textOf(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0)).toString(16),
  )
  let best = { from: -1, length: 1 }
  for (let from = 0; from < 8; from += 1) {
    let length = 0
    while (groups[from + length] === '0') length += 1
    if (length > best.length) best = { from, length }
  }
  if (best.from === -1) return groups.join(':')
  return `${groups.slice(0, best.from).join(':')}::${groups.slice(best.from + best.length).join(':')}`
}
