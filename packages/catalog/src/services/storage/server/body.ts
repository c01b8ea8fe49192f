import { createHash } from 'node:crypto'
import { decodeChunks } from './aws-chunked.ts'
import {
  type ChecksumName,
  checksumHeader,
  checksumNameOf,
  createHasher,
  declaredChecksum,
  refuseMalformed,
} from './checksum.ts'
import { S3Error } from './errors.ts'
import type { Exchange } from './exchange.ts'

/** The content that a request brings. */
export interface Body {
  /**
   * Ends well only when the content is complete and all that was said of it is true: length, Content-MD5, SHA-256, checksum,
   * signatures of chunks. When it throws, what came must be thrown away.
   */
  readonly chunks: AsyncGenerator<Buffer>
  /** After the end. */
  md5(): Buffer
  checksum(): { readonly name: ChecksumName; readonly value: string } | null
}

export const largestPut = 5 * 1024 ** 3

/** `compute` asks for a checksum that the request need not bring. Throws at once for what its headers already show. */
export function openBody(exchange: Exchange, limit: number, compute: ChecksumName | null = null): Body {
  const { incoming, header } = exchange
  const { payload } = exchange.owner
  const length = lengthOf(exchange)
  if (length !== null && length > limit)
    throw new S3Error(limit < largestPut ? 'MaxMessageLengthExceeded' : 'EntityTooLarge')
  const contentMd5 = md5Of(header('content-md5'))
  // Not from a query: what an SDK signs ahead into a URL is the checksum of no content at all. S3 passes over it too.
  const declared = declaredChecksum((name) => incoming.headers[name] as string | undefined)
  const trailing = payload.kind === 'chunked' && payload.trailer ? trailingChecksum(header('x-amz-trailer')) : null
  if (declared !== null && trailing !== null) throw new S3Error('InvalidRequest', 'Send the checksum once.')
  const name = declared?.name ?? trailing ?? compute
  const hasher = name === null ? null : createHasher(name)
  const md5 = createHash('md5')
  const sha256 = payload.kind === 'hashed' ? createHash('sha256') : null
  let trailer: string | undefined
  const found: { md5?: Buffer; checksum?: string } = {}

  async function* checked(): AsyncGenerator<Buffer> {
    exchange.goOn()
    // Left early, the rest of the body is still to be read before the answer can be: the connection must stay.
    const raw = incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    const source =
      payload.kind === 'chunked'
        ? decodeChunks(raw, payload.signer, (headers) => {
            trailer = trailing === null ? undefined : headers.get(checksumHeader(trailing))
          })
        : raw
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > limit) throw new S3Error(limit < largestPut ? 'MaxMessageLengthExceeded' : 'EntityTooLarge')
      md5.update(chunk)
      sha256?.update(chunk)
      hasher?.update(chunk)
      yield chunk
    }
    if (length !== null && size !== length) throw new S3Error('IncompleteBody')
    found.md5 = md5.digest()
    if (contentMd5 !== null && !found.md5.equals(contentMd5)) throw new S3Error('BadDigest')
    if (payload.kind === 'hashed' && sha256?.digest('hex') !== payload.sha256)
      throw new S3Error('XAmzContentSHA256Mismatch')
    if (name === null || hasher === null) return
    found.checksum = hasher.digest().toString('base64')
    const promised = trailing === null ? declared?.value : trailer
    if (trailing !== null && trailer === undefined)
      throw new S3Error('IncompleteBody', 'The trailing checksum is missing.')
    if (promised === undefined) return
    refuseMalformed(name, promised)
    if (promised !== found.checksum) throw new S3Error('BadDigest', `The ${name} of the content is another.`)
  }

  return {
    chunks: checked(),
    md5: () => found.md5 ?? Buffer.alloc(0),
    checksum: () => (name === null || found.checksum === undefined ? null : { name, value: found.checksum }),
  }
}

/** A short text, such as a list of keys. */
export async function readText(exchange: Exchange, limit: number): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of openBody(exchange, limit).chunks) chunks.push(chunk)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new S3Error('MalformedXML', 'The body is not UTF-8.')
  }
}

/** Null when only the end of the body tells. */
function lengthOf({ incoming, owner, header }: Exchange): number | null {
  const said =
    owner.payload.kind === 'chunked' ? header('x-amz-decoded-content-length') : incoming.headers['content-length']
  if (said === undefined) {
    if (owner.payload.kind !== 'chunked' && incoming.headers['transfer-encoding'] !== undefined) return null
    throw new S3Error('MissingContentLength')
  }
  if (!/^\d{1,15}$/.test(said)) throw new S3Error('InvalidArgument', 'The length of the content is not a number.')
  return Number(said)
}

function md5Of(text: string | undefined): Buffer | null {
  if (text === undefined) return null
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== 16 || bytes.toString('base64') !== text) throw new S3Error('InvalidDigest')
  return bytes
}

function trailingChecksum(said: string | undefined): ChecksumName | null {
  if (said === undefined) return null
  const [, name] = /^x-amz-checksum-(\w+)$/i.exec(said.trim()) ?? []
  if (name === undefined) throw new S3Error('InvalidRequest', 'x-amz-trailer may name one checksum.')
  return checksumNameOf(name)
}
