import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ifNoneMatchHits } from './preconditions.ts'

export interface OpenapiAnswer {
  text(): Promise<string>
  send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/**
 * The OpenAPI document as it is answered: without white space, under the hash of its text, compressed for those who take
 * it. Loaded and made when first asked for, which takes a tenth of a second that a start does not have, and kept.
 */
export function createOpenapiAnswer(version: string): OpenapiAnswer {
  let made: Promise<{ text: string; hash: string }> | undefined
  const compressed = new Map<Encoding, Promise<Buffer>>()

  const make = async () => {
    const { compactOpenapiText } = await import('@stackquay/contract/openapi')
    const text = compactOpenapiText(version)
    return { text, hash: createHash('sha256').update(text).digest('base64url') }
  }
  const madeOnce = () => (made ??= make())
  const compressedOnce = (text: string, encoding: Encoding) => {
    const known = compressed.get(encoding) ?? compress[encoding](Buffer.from(text))
    compressed.set(encoding, known)
    return known
  }

  return {
    text: async () => (await madeOnce()).text,
    send: async (request, reply) => {
      const { text, hash } = await madeOnce()
      const encoding = encodingFor(request.headers['accept-encoding'])
      // Other bytes need another strong tag.
      const etag = encoding === null ? hash : `${hash}-${encoding}`
      reply.headers({ etag: `"${etag}"`, vary: 'accept-encoding', 'cache-control': 'no-cache' })
      if (ifNoneMatchHits(request.headers['if-none-match'], etag)) return reply.code(304).send()
      reply.header('content-type', 'application/json; charset=utf-8')
      if (encoding === null) return reply.send(text)
      return reply.header('content-encoding', encoding).send(await compressedOnce(text, encoding))
    },
  }
}

type Encoding = 'br' | 'gzip'

const compress: Readonly<Record<Encoding, (text: Buffer) => Promise<Buffer>>> = {
  br: (text) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (text) => promisify(gzip)(text, { level: 9 }),
}

/** The one of ours that the caller likes best; Brotli where it does not care. Null where it takes neither (RFC 9110, section 12.5.3). */
export function encodingFor(header: string | string[] | undefined): Encoding | null {
  const weights = new Map(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => {
        const [name = '', ...parameters] = part.split(';').map((chunk) => chunk.trim())
        const weight = parameters.find((parameter) => parameter.startsWith('q='))
        return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0] as const
      }),
  )
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const best = weightOf('gzip') > weightOf('br') ? 'gzip' : 'br'
  return weightOf(best) > 0 ? best : null
}
