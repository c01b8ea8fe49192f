import { BrowseError } from './driver.ts'

/** Where a page of rows goes on. */
export type RowCursor =
  /** Behind the row with these values of what is sorted by, or before it. */
  | { readonly at: 'key'; readonly back: boolean; readonly values: readonly (string | null)[]; readonly order: string }
  /** Where rows cannot be told apart. */
  | { readonly at: 'offset'; readonly offset: number; readonly order: string }

export function encodeCursor(cursor: RowCursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

/** Throws when it is none, or of another order. */
export function decodeCursor(text: string, order: string): RowCursor {
  const cursor = parsed(text)
  if (cursor === null) throw new BrowseError('invalid', 'The cursor is none that this list answered.')
  if (cursor.order !== order) throw new BrowseError('invalid', 'The cursor belongs to another order or filter.')
  return cursor
}

function parsed(text: string): RowCursor | null {
  let found: unknown
  try {
    found = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return null
  }
  if (typeof found !== 'object' || found === null) return null
  const { at, back, values, offset, order } = found as Record<string, unknown>
  if (typeof order !== 'string') return null
  if (at === 'offset') return isOffset(offset) ? { at, offset, order } : null
  if (at !== 'key' || typeof back !== 'boolean' || !Array.isArray(values)) return null
  if (!values.every((one): one is string | null => one === null || typeof one === 'string')) return null
  return { at, back, values, order }
}

function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
