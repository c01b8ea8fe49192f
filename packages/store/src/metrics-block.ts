import type { MetricPoint } from '@stackquay/domain'

/*
 * Points as bytes: a column after the other, each number as its distance to the one before it, in as few bytes as it needs. Numbers of one
 * workload hardly change, so most take one or two.
 *
 *   version, points, columns, times in steps after the first, then for each column:
 *   0 nothing known | 1 all known | 2 a bit for each point, and the numbers
 */

const version = 1

export function packPoints(points: readonly MetricPoint[], step: number): Uint8Array {
  const bytes = new Writer()
  const width = points[0]?.values.length ?? 0
  bytes.number(version)
  bytes.number(points.length)
  bytes.number(width)
  let last = points[0]?.time ?? 0
  bytes.number(last / step)
  for (const { time } of points) {
    bytes.number((time - last) / step)
    last = time
  }
  for (let column = 0; column < width; column += 1) writeColumn(bytes, points, column)
  return bytes.taken()
}

/** Throws for what is no block. */
export function unpackPoints(data: Uint8Array, step: number): MetricPoint[] {
  const bytes = new Reader(data)
  if (bytes.number() !== version) throw new Error('This block of metrics has another form.')
  const count = bytes.number()
  const width = bytes.number()
  // A point takes a byte at least: what claims more is damaged.
  if (count > data.length || width > data.length) throw new Error('This block of metrics is damaged.')
  let time = bytes.number()
  const points: { time: number; values: (number | null)[] }[] = []
  for (let index = 0; index < count; index += 1) {
    time += bytes.number()
    points.push({ time: time * step, values: new Array<number | null>(width).fill(null) })
  }
  for (let column = 0; column < width; column += 1) readColumn(bytes, points, column)
  return points
}

function writeColumn(bytes: Writer, points: readonly MetricPoint[], column: number): void {
  const known = points.reduce((sum, { values }) => sum + (values[column] == null ? 0 : 1), 0)
  bytes.number(known === 0 ? 0 : known === points.length ? 1 : 2)
  if (known === 0) return
  if (known < points.length) {
    for (let from = 0; from < points.length; from += 8) {
      const bits = points.slice(from, from + 8).map(({ values }, bit) => (values[column] == null ? 0 : 1 << bit))
      bytes.byte(bits.reduce((all, bit) => all | bit, 0))
    }
  }
  let last = 0
  for (const { values } of points) {
    const value = values[column]
    if (value == null) continue
    const distance = value - last
    bytes.number(distance < 0 ? -2 * distance - 1 : 2 * distance)
    last = value
  }
}

function readColumn(bytes: Reader, points: readonly { values: (number | null)[] }[], column: number): void {
  const kind = bytes.number()
  if (kind === 0) return
  const bits = kind === 1 ? null : bytes.take(Math.ceil(points.length / 8))
  let last = 0
  for (const [index, { values }] of points.entries()) {
    if (bits !== null && (bits[index >> 3]! & (1 << (index & 7))) === 0) continue
    const folded = bytes.number()
    last += folded % 2 === 1 ? -(folded + 1) / 2 : folded / 2
    values[column] = last
  }
}

/** Seven bits a byte, the lowest first (LEB128). Division instead of shifts: bytes of a year do not fit into 32 bits. */
class Writer {
  #bytes = new Uint8Array(256)
  #length = 0

  byte(value: number): void {
    if (this.#length === this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#length)
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes[this.#length] = value
    this.#length += 1
  }

  number(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.byte((rest % 128) + 128)
      rest = Math.floor(rest / 128)
    }
    this.byte(rest)
  }

  taken(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }
}

class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  number(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined || factor > 2 ** 49) throw new Error('This block of metrics is damaged.')
      this.#at += 1
      if (byte < 128) return value + byte * factor
      value += (byte - 128) * factor
    }
  }

  take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) throw new Error('This block of metrics is damaged.')
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }
}
