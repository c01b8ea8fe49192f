import type { IncomingHttpHeaders } from 'node:http'

/** Conditional and range requests as RFC 9110, sections 13 and 14, has them. */

interface Representation {
  readonly etag: string
  readonly modified: Date
  readonly size: number
}

/** Whether the client's copy is still right. `If-None-Match` decides alone when it is there. */
export function isUnchanged(headers: IncomingHttpHeaders, file: Representation): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return noneMatch.trim() === '*' || listed(noneMatch).includes(file.etag)
  return isNotAfter(file.modified, headers['if-modified-since'])
}

export type Part =
  | { readonly kind: 'whole' }
  | { readonly kind: 'range'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' }

/** The part a client asks for; `end` is included. Several ranges at once are answered whole, which the RFC allows. */
export function requestedPart(headers: IncomingHttpHeaders, file: Representation): Part {
  const range = headers.range
  if (range === undefined || !ifRangeHolds(headers['if-range'], file)) return { kind: 'whole' }
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim())
  if (match === null) return { kind: 'whole' }
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return { kind: 'whole' }

  if (first === '') {
    const length = Math.min(Number(last), file.size)
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'range', start: file.size - length, end: file.size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return { kind: 'whole' }
  if (start >= file.size) return { kind: 'unsatisfiable' }
  return { kind: 'range', start, end: last === '' ? file.size - 1 : Math.min(Number(last), file.size - 1) }
}

/** A part is only of use beside the parts of the same version. A date counts when it is exactly the file's. */
function ifRangeHolds(ifRange: IncomingHttpHeaders[string], file: Representation): boolean {
  if (typeof ifRange !== 'string') return true
  return ifRange.startsWith('"') ? ifRange === file.etag : ifRange === file.modified.toUTCString()
}

function listed(header: string): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
}

function isNotAfter(modified: Date, header: string | undefined): boolean {
  const since = header === undefined ? Number.NaN : Date.parse(header)
  // HTTP dates have whole seconds.
  return Math.floor(modified.getTime() / 1000) * 1000 <= since
}
