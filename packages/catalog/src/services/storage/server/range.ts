import { S3Error } from './errors.ts'

/** Bytes from `start` up to and without `end`. */
export interface Part {
  readonly start: number
  readonly end: number
}

/** The part that a Range header asks for; null for the whole, as it is for what is no single range of bytes. Throws InvalidRange. */
export function requestedPart(range: string | undefined, size: number): Part | null {
  const [, first, last] = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(range?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size)
  if (first !== '' && last !== '' && Number(last) < start) return null
  if (start >= size || (first === '' && Number(last) === 0)) {
    throw new S3Error('InvalidRange', undefined, { 'Content-Range': `bytes */${size}` })
  }
  return { start, end }
}

/** The range of a copied part must lie within its source. */
export function copiedRange(range: string, size: number): Part {
  const [, first, last] = /^bytes=(\d{1,16})-(\d{1,16})$/.exec(range) ?? []
  const part = { start: Number(first), end: Number(last) + 1 }
  if (last === undefined || part.start >= part.end || part.end > size) {
    throw new S3Error('InvalidArgument', `x-amz-copy-source-range must be bytes=first-last within ${size} bytes.`)
  }
  return part
}
