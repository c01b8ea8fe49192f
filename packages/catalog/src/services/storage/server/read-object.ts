import { checksumHeaders } from './checksum.ts'
import { isPartWanted, isWanted } from './conditional.ts'
import { S3Error } from './errors.ts'
import type { Answer, Exchange } from './exchange.ts'
import { openContent, piecesOf, type StoredObject } from './objects.ts'
import { objectAt, partNumberOf } from './parameters.ts'
import { type Part, requestedPart } from './range.ts'
import { headersToAnswer, overrides } from './stored-headers.ts'

/** GET and HEAD of an object, whoever asks. */
export function readObject(exchange: Pick<Exchange, 'incoming' | 'store' | 'address' | 'header'>): Answer {
  const { incoming, store, address, header } = exchange
  const object = objectAt(store, address)
  const stored = { ...headersToAnswer(object.headers), ...overrides(exchange) }
  const always = {
    ETag: `"${object.etag}"`,
    'Last-Modified': new Date(object.modified).toUTCString(),
    'Accept-Ranges': 'bytes',
  }
  if (!isWanted(header, object)) {
    const cache = stored['cache-control']
    return { status: 304, headers: { ...always, ...(cache === undefined ? {} : { 'cache-control': cache }) } }
  }
  const { part, headers } = requested(exchange, object)
  const { start, end } = part ?? { start: 0, end: object.size }
  const wantsChecksum = part === null && header('x-amz-checksum-mode')?.toUpperCase() === 'ENABLED'
  return {
    status: part === null ? 200 : 206,
    headers: {
      ...stored,
      ...always,
      ...headers,
      'Content-Length': end - start,
      ...(part === null ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${object.size}` }),
      ...(wantsChecksum ? checksumHeaders(object.checksum) : {}),
    },
    ...(incoming.method === 'HEAD' ? {} : { body: openContent(store, object, start, end) }),
  }
}

/** Asked for by a Range header, or by the number of a part. */
function requested(
  { store, address, header }: Pick<Exchange, 'store' | 'address' | 'header'>,
  object: StoredObject,
): { readonly part: Part | null; readonly headers: Record<string, number> } {
  const range = isPartWanted(header, object) ? header('range') : undefined
  const numberText = address.query.get('partNumber')
  if (numberText === undefined) return { part: requestedPart(range, object.size), headers: {} }
  if (range !== undefined) throw new S3Error('InvalidRequest', 'Ask for a range or for a part, not for both.')
  const number = partNumberOf(numberText)
  const pieces = object.upload === null ? [{ size: object.size }] : piecesOf(store, object)
  const piece = pieces[number - 1]
  if (piece === undefined) throw new S3Error('InvalidPartNumber')
  const start = pieces.slice(0, number - 1).reduce((sum, { size }) => sum + size, 0)
  return {
    part: piece.size === 0 ? null : { start, end: start + piece.size },
    headers: object.upload === null ? {} : { 'x-amz-mp-parts-count': pieces.length },
  }
}
