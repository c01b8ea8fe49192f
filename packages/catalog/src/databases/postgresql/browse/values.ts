import type { RawCell, ValueKind } from '../../../browse/driver.ts'

const boolean = 16
const bytea = 17
const numbers: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])
const json: ReadonlySet<number> = new Set([114, 3802])

export function kindOfType(oid: number): ValueKind {
  if (oid === boolean) return 'boolean'
  if (oid === bytea) return 'binary'
  if (numbers.has(oid)) return 'number'
  return json.has(oid) ? 'json' : 'text'
}

/** Of what the server prints. `bigint` and `numeric` stay text, and so does NaN: numbers of JSON do not hold them. */
export function cellFrom(text: string | null, kind: ValueKind): RawCell {
  if (text === null) return null
  if (kind === 'boolean') return text === 't'
  if (kind === 'number') {
    const number = Number(text)
    return Number.isFinite(number) ? number : text
  }
  if (kind === 'binary') return text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex') : Buffer.from(text)
  return text
}
