/**
 * CRC-32C (Castagnoli, RFC 9260 appendix A) and CRC-64/NVME (NVM Express command set, 5.2.1.3.4), eight bytes at a time;
 * Node has CRC-32 alone. And what the checksum of two contents put together is.
 */
const polynomials = { crc32: 0xedb88320n, crc32c: 0x82f63b78n, crc64nvme: 0x9a6c9329ac4bc9b5n } as const

export type CrcName = keyof typeof polynomials

export function crc32c(data: Uint8Array, previous = 0): number {
  table32 ??= makeTable32(Number(polynomials.crc32c))
  const table = table32
  let crc = ~previous
  let at = 0
  for (const end = data.length - 7; at < end; at += 8) {
    crc ^= data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24)
    crc =
      table[1792 + (crc & 255)]! ^
      table[1536 + ((crc >>> 8) & 255)]! ^
      table[1280 + ((crc >>> 16) & 255)]! ^
      table[1024 + (crc >>> 24)]! ^
      table[768 + data[at + 4]!]! ^
      table[512 + data[at + 5]!]! ^
      table[256 + data[at + 6]!]! ^
      table[data[at + 7]!]!
  }
  for (; at < data.length; at += 1) crc = (crc >>> 8) ^ table[(crc ^ data[at]!) & 255]!
  return ~crc >>> 0
}

/** The upper and the lower half. */
export type Crc64 = readonly [number, number]

export function crc64nvme(data: Uint8Array, previous: Crc64 = [0, 0]): Crc64 {
  table64 ??= makeTable64(polynomials.crc64nvme)
  const { high, low } = table64
  let h = ~previous[0]
  let l = ~previous[1]
  let at = 0
  for (const end = data.length - 7; at < end; at += 8) {
    l ^= data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24)
    h ^= data[at + 4]! | (data[at + 5]! << 8) | (data[at + 6]! << 16) | (data[at + 7]! << 24)
    const a = 1792 + (l & 255)
    const b = 1536 + ((l >>> 8) & 255)
    const c = 1280 + ((l >>> 16) & 255)
    const d = 1024 + (l >>> 24)
    const e = 768 + (h & 255)
    const f = 512 + ((h >>> 8) & 255)
    const g = 256 + ((h >>> 16) & 255)
    const i = h >>> 24
    h = high[a]! ^ high[b]! ^ high[c]! ^ high[d]! ^ high[e]! ^ high[f]! ^ high[g]! ^ high[i]!
    l = low[a]! ^ low[b]! ^ low[c]! ^ low[d]! ^ low[e]! ^ low[f]! ^ low[g]! ^ low[i]!
  }
  for (; at < data.length; at += 1) {
    const entry = (l ^ data[at]!) & 255
    l = ((l >>> 8) | (h << 24)) ^ low[entry]!
    h = (h >>> 8) ^ high[entry]!
  }
  return [~h >>> 0, ~l >>> 0]
}

let table32: Int32Array | undefined
let table64: { readonly high: Int32Array; readonly low: Int32Array } | undefined

function makeTable32(polynomial: number): Int32Array {
  const table = new Int32Array(8 * 256)
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
    table[byte] = crc
  }
  for (let entry = 256; entry < table.length; entry += 1) {
    const before = table[entry - 256]!
    table[entry] = (before >>> 8) ^ table[before & 255]!
  }
  return table
}

function makeTable64(polynomial: bigint) {
  const high = new Int32Array(8 * 256)
  const low = new Int32Array(8 * 256)
  const values: bigint[] = []
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = BigInt(byte)
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1n ? (crc >> 1n) ^ polynomial : crc >> 1n
    values.push(crc)
  }
  for (let entry = 256; entry < high.length; entry += 1) {
    const before = values[entry - 256]!
    values.push((before >> 8n) ^ values[Number(before & 255n)]!)
  }
  for (const [entry, value] of values.entries()) {
    high[entry] = Number(BigInt.asIntN(32, value >> 32n))
    low[entry] = Number(BigInt.asIntN(32, value))
  }
  return { high, low }
}

/** The checksum of one content after another, from those of the pieces and their lengths in bytes. */
export function combined(name: CrcName, pieces: readonly { readonly crc: Buffer; readonly size: number }[]): Buffer {
  const width = BigInt((pieces[0]?.crc.length ?? 4) * 8)
  const polynomial = polynomials[name]
  // Parts of an upload mostly have one size.
  const shifts = new Map<number, bigint>()
  const whole = pieces
    .map(({ crc, size }) => ({ crc: BigInt(`0x${crc.toString('hex')}`), size }))
    .reduce((before, { crc, size }) => {
      const shift = shifts.get(size) ?? powerOfX(8n * BigInt(size), polynomial, width)
      shifts.set(size, shift)
      return multiplied(shift, before, polynomial, width) ^ crc
    }, 0n)
  return Buffer.from(whole.toString(16).padStart(Number(width) / 4, '0'), 'hex')
}

/** Product of two polynomials modulo the third; bits reflected, so the highest bit is the coefficient of 1. */
function multiplied(a: bigint, b: bigint, polynomial: bigint, width: bigint): bigint {
  let product = 0n
  let factor = b
  for (let bit = 1n << (width - 1n); bit > 0n; bit >>= 1n) {
    if (a & bit) product ^= factor
    factor = factor & 1n ? (factor >> 1n) ^ polynomial : factor >> 1n
  }
  return product
}

function powerOfX(exponent: bigint, polynomial: bigint, width: bigint): bigint {
  let power = 1n << (width - 1n)
  let square = 1n << (width - 2n)
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) power = multiplied(square, power, polynomial, width)
    square = multiplied(square, square, polynomial, width)
  }
  return power
}
