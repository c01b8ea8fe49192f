import { createHash } from 'node:crypto'
import { equal } from './authenticate.ts'
import { S3Error } from './errors.ts'
import type { ChunkSigner } from './signature.ts'

/**
 * The content of an `aws-chunked` body: chunks with their size and, where there is a signer, a signature in front, and after
 * the last one trailing headers. A chunk is passed on before its signature is known to be right: whoever reads must throw
 * away what came when this throws.
 */
export async function* decodeChunks(
  source: AsyncIterable<Buffer>,
  signer: ChunkSigner | null,
  onTrailer: (headers: ReadonlyMap<string, string>) => void,
): AsyncGenerator<Buffer> {
  const reader = createReader(source)
  for (let size = -1; size !== 0; ) {
    const line = await reader.line()
    const [, digits, signature] = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line) ?? []
    if (digits === undefined) throw new S3Error('IncompleteBody', 'The body is not aws-chunked.')
    size = Number.parseInt(digits, 16)
    const hash = signer === null ? null : createHash('sha256')
    for (let left = size; left > 0; ) {
      const piece = await reader.take(left)
      hash?.update(piece)
      left -= piece.length
      yield piece
    }
    if (signer !== null && hash !== null && !equal(signer.chunk(hash.digest('hex')), signature ?? '')) {
      throw new S3Error('SignatureDoesNotMatch', 'The signature of a chunk does not fit.')
    }
    if (size > 0 && (await reader.line()) !== '') throw new S3Error('IncompleteBody', 'The body is not aws-chunked.')
  }
  onTrailer(trailerOf(await reader.rest(), signer))
}

function trailerOf(text: string, signer: ChunkSigner | null): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    if (line === '') continue
    const at = line.indexOf(':')
    if (at < 1) throw new S3Error('IncompleteBody', 'A trailing header is malformed.')
    headers.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim())
  }
  const signature = headers.get(signatureName)
  headers.delete(signatureName)
  if (signer === null || headers.size === 0) return headers
  const signed = [...headers].map(([name, value]) => `${name}:${value}\n`).join('')
  if (!equal(signer.trailer(signed), signature ?? '')) {
    throw new S3Error('SignatureDoesNotMatch', 'The signature of the trailing headers does not fit.')
  }
  return headers
}

const signatureName = 'x-amz-trailer-signature'
const longestLine = 256
const longestTrailer = 8192

function createReader(source: AsyncIterable<Buffer>) {
  const iterator = source[Symbol.asyncIterator]()
  let pending = Buffer.alloc(0) as Buffer
  const more = async (): Promise<boolean> => {
    const next = await iterator.next()
    if (next.done) return false
    pending = pending.length === 0 ? next.value : Buffer.concat([pending, next.value])
    return true
  }
  return {
    line: async (): Promise<string> => {
      for (;;) {
        const at = pending.indexOf('\r\n')
        if (at !== -1) {
          const line = pending.toString('latin1', 0, at)
          pending = pending.subarray(at + 2)
          return line
        }
        if (pending.length > longestLine || !(await more())) throw new S3Error('IncompleteBody')
      }
    },
    /** At least one byte, at most so many. */
    take: async (most: number): Promise<Buffer> => {
      while (pending.length === 0) if (!(await more())) throw new S3Error('IncompleteBody')
      const piece = pending.subarray(0, most)
      pending = pending.subarray(piece.length)
      return piece
    },
    rest: async (): Promise<string> => {
      while (await more()) if (pending.length > longestTrailer) throw new S3Error('IncompleteBody')
      return pending.toString('latin1')
    },
  }
}
