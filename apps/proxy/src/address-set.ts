import { isIP, isIPv4 } from 'node:net'

/** Addresses and blocks, ready for look-ups: `192.0.2.0/24`, `2001:db8::1`. What cannot be read is in none. */
export interface AddressSet {
  has(address: string): boolean
}

/** Throws when an entry is no block. */
export function addressSet(ranges: readonly string[]): AddressSet {
  const blocks = ranges.map(readRange)
  return new Blocks(
    blocks.filter(({ address }) => isIPv4(address)),
    blocks.filter(({ address }) => !isIPv4(address)),
  )
}

/**
 * Of IPv4 a short list of first and last addresses, which is one look at memory for most sets (see `IndexedRoute`). Blocks of IPv6
 * of one prefix length are one set of their first addresses.
 */
class Blocks implements AddressSet {
  readonly #four: readonly number[]
  readonly #six: ReadonlyMap<number, ReadonlySet<bigint>> | null

  constructor(four: readonly Range[], six: readonly Range[]) {
    this.#four = bounds(four)
    const byPrefix = Map.groupBy(six, ({ prefix }) => prefix)
    const sets = [...byPrefix].map(
      ([prefix, all]) => [prefix, new Set(all.map(({ address }) => masked6(number6(address), prefix)))] as const,
    )
    this.#six = sets.length === 0 ? null : new Map(sets)
  }

  has(address: string): boolean {
    const value = numberOf(address)
    if (typeof value === 'number') return isWithin(this.#four, value)
    if (value === null || this.#six === null) return false
    for (const [prefix, values] of this.#six) if (values.has(masked6(value, prefix))) return true
    return false
  }
}

/** In turns the first and the last address of blocks that do not touch each other, in order. */
function bounds(ranges: readonly Range[]): readonly number[] {
  const blocks = ranges
    .map(({ address, prefix }) => {
      const size = 2 ** (32 - prefix)
      const first = Math.floor(number4(address) / size) * size
      return { first, last: first + size - 1 }
    })
    .sort((one, other) => one.first - other.first)
  const all: number[] = []
  for (const { first, last } of blocks) {
    const before = all.at(-1)
    if (before !== undefined && first <= before + 1) all[all.length - 1] = Math.max(before, last)
    else all.push(first, last)
  }
  return all
}

function isWithin(all: readonly number[], value: number): boolean {
  let low = 0
  let high = all.length / 2
  while (low < high) {
    const middle = (low + high) >>> 1
    if (all[2 * middle + 1]! < value) low = middle + 1
    else high = middle
  }
  return 2 * low < all.length && all[2 * low]! <= value
}

/** Most requests come from whom the last one came from. */
let lastAddress = ''
let lastNumber: number | bigint | null = null

/** Of IPv6 a bigint; null for what is no address. */
function numberOf(address: string): number | bigint | null {
  if (address === lastAddress) return lastNumber
  const plain = plainAddress(address)
  lastNumber = isIPv4(plain) ? number4(plain) : isIP(plain) === 6 && !plain.includes('%') ? number6(plain) : null
  lastAddress = address
  return lastNumber
}

/** `::ffff:192.0.2.1`, as sockets for both families say it, is `192.0.2.1`. */
export function plainAddress(address: string): string {
  const lower = address.toLowerCase()
  return lower.startsWith('::ffff:') && isIPv4(lower.slice(7)) ? lower.slice(7) : lower
}

/** A prefix that is no number or too long would mask nothing, and let every client in. */
function readRange(range: string): Range {
  const [, text = '', bits] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(range) ?? []
  const address = plainAddress(text)
  const family = isIP(address)
  const longest = family === 4 ? 32 : 128
  const prefix = Number(bits ?? longest)
  if (family === 0 || prefix > longest)
    throw new TypeError(`${JSON.stringify(range)} is neither an address nor a block.`)
  return { address, prefix }
}

interface Range {
  readonly address: string
  readonly prefix: number
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
