/** What of an answer is sent: `from` and `to` count bytes, both included (RFC 9110, section 14). */
export type Part = 'whole' | 'unsatisfiable' | { readonly from: number; readonly to: number }

export interface RangeHeaders {
  readonly range?: string | undefined
  readonly 'if-range'?: string | undefined
}

/**
 * One range alone; several, and what is no range of bytes, are answered whole, as the RFC allows. `If-Range` compares
 * strongly: a reader who has the beginning of another version gets all of this one.
 */
export function partOf({ range, 'if-range': ifRange }: RangeHeaders, etag: string, length: number): Part {
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return 'whole'
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim())
  if (match === null || (match[1] === '' && match[2] === '')) return 'whole'
  const [, first = '', last = ''] = match
  if (first === '') {
    const count = Math.min(Number(last), length)
    return count === 0 ? 'unsatisfiable' : { from: length - count, to: length - 1 }
  }
  const from = Number(first)
  const to = last === '' ? length - 1 : Math.min(Number(last), length - 1)
  if (last !== '' && Number(last) < from) return 'whole'
  return from >= length ? 'unsatisfiable' : { from, to }
}

/**
 * Exactly these bytes. Who makes the stream may be a program of a project: a byte more than was announced would be read as
 * the beginning of the next answer, a byte less would be waited for.
 */
export async function* bytesOf(
  stream: AsyncIterable<string | Uint8Array>,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<Uint8Array> {
  let position = 0
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    const start = Math.max(from - position, 0)
    const end = Math.min(to + 1 - position, bytes.length)
    if (start < end) yield bytes.subarray(start, end)
    position += bytes.length
    if (position > to) return
  }
  if (position <= to) throw new Error('The source of an answer ended before its announced length.')
}
