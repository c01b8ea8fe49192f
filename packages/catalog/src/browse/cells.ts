import type { Cell, RawCell } from './driver.ts'

/** How much of one value is answered in a list. */
const mostText = 4096
const mostBinary = 1024

export function cellOf(value: RawCell): Cell {
  if (Buffer.isBuffer(value)) return { base64: value.subarray(0, mostBinary).toString('base64'), bytes: value.length }
  if (typeof value !== 'string' || value.length <= mostText) return value
  return { cut: value.slice(0, mostText), bytes: Buffer.byteLength(value) }
}

/** About what it takes as JSON. */
export function sizeOf(cell: Cell): number {
  if (typeof cell === 'string') return cell.length + 3
  if (typeof cell !== 'object' || cell === null) return 8
  return 'cut' in cell ? mostText + 30 : cell.base64.length + 30
}

/** What a cursor holds of it: text that the server compares. */
export function keyText(value: RawCell): string | null {
  if (value === null) return null
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value)
}

/** One record of a CSV file (RFC 4180). NULL is an empty field, an empty text is quoted. */
export function csvLine(row: readonly RawCell[]): string {
  return `${row.map(csvField).join(',')}\r\n`
}

function csvField(value: RawCell): string {
  if (value === null) return ''
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** One object of an array. Numbers that JSON cannot hold are text. */
export function jsonObject(columns: readonly { readonly name: string }[], row: readonly RawCell[]): string {
  const fields = columns.map(({ name }, at) => {
    const value = row[at] ?? null
    return `${JSON.stringify(name)}:${JSON.stringify(Buffer.isBuffer(value) ? value.toString('base64') : value)}`
  })
  return `{${fields.join(',')}}`
}
