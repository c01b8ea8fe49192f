import { isIP, isIPv4 } from 'node:net'

/** Addresses and blocks, ready for look-ups: `192.0.2.0/24`, `2001:db8::1`. What cannot be read is in none. */
export interface AddressSet {
  has(address: string): boolean
}

/**
 * Blocks of one prefix length are one set of their first addresses, so a look-up costs one masking a length, however many
 * blocks there are. Throws when an entry is no block.
 */
export function addressSet(ranges: readonly string[]): AddressSet {
  const four = new Map<number, Set<number>>()
  const six = new Map<number, Set<bigint>>()
  for (const range of ranges) {
    const { address, prefix } = readRange(range)
    if (isIPv4(address)) put(four, prefix, masked4(number4(address), prefix))
    else put(six, prefix, masked6(number6(address), prefix))
  }
  return {
    has(address) {
      const plain = plainAddress(address)
      if (isIPv4(plain)) {
        const value = number4(plain)
        for (const [prefix, values] of four) if (values.has(masked4(value, prefix))) return true
        return false
      }
      if (isIP(plain) !== 6 || plain.includes('%')) return false
      const value = number6(plain)
      for (const [prefix, values] of six) if (values.has(masked6(value, prefix))) return true
      return false
    },
  }
}

/** `::ffff:192.0.2.1`, as sockets for both families say it, is `192.0.2.1`. */
export function plainAddress(address: string): string {
  const lower = address.toLowerCase()
  return lower.startsWith('::ffff:') && isIPv4(lower.slice(7)) ? lower.slice(7) : lower
}

/** A prefix that is no number or too long would mask nothing, and let everybody in. */
function readRange(range: string): { readonly address: string; readonly prefix: number } {
  const [, text = '', bits] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(range) ?? []
  const address = plainAddress(text)
  const family = isIP(address)
  const longest = family === 4 ? 32 : 128
  const prefix = Number(bits ?? longest)
  if (family === 0 || prefix > longest)
    throw new TypeError(`${JSON.stringify(range)} is neither an address nor a block.`)
  return { address, prefix }
}

function put<T>(sets: Map<number, Set<T>>, prefix: number, value: T): void {
  const known = sets.get(prefix)
  if (known === undefined) sets.set(prefix, new Set([value]))
  else known.add(value)
}

/** Without a list in between: each request to a project with such rules pays for it. */
function number4(address: string): number {
  let sum = 0
  let part = 0
  for (let index = 0; index < address.length; index += 1) {
    const code = address.charCodeAt(index)
    if (code === dot) {
      sum = sum * 256 + part
      part = 0
    } else part = part * 10 + code - zero
  }
  return sum * 256 + part
}

const dot = 0x2e
const zero = 0x30

function masked4(value: number, prefix: number): number {
  return prefix === 0 ? 0 : (value & (-1 << (32 - prefix))) >>> 0
}

function number6(address: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  const value4 = dotted === null ? 0 : number4(dotted[2]!)
  const text =
    dotted === null ? address : `${dotted[1]}${(value4 >>> 16).toString(16)}:${(value4 & 0xffff).toString(16)}`
  const [head = '', tail] = text.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...front, ...Array.from({ length: 8 - front.length - back.length }, () => '0'), ...back]
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

function masked6(value: bigint, prefix: number): bigint {
  const shift = BigInt(128 - prefix)
  return (value >> shift) << shift
}
