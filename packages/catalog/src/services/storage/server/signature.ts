import { createHash, createHmac } from 'node:crypto'

/**
 * AWS Signature Version 4 as S3 uses it: "Authenticating Requests" of the Amazon S3 API reference. Pure; the tests hold it
 * against every example that AWS publishes.
 *
 * Written here because libraries sign and do not verify: @smithy/signature-v4, aws4 and aws4fetch build the request as their
 * own client would send it (they choose which headers count, normalise or encode the path again), so a request that another
 * client signed rightly would not fit; and none computes the signatures of the chunks of a body as it arrives.
 */
export interface Scope {
  /** `20130524` */
  readonly date: string
  readonly region: string
  readonly service: string
}

export interface Signed {
  readonly method: string
  /** Decoded. */
  readonly path: string
  /** Decoded, without the signature itself. */
  readonly query: readonly (readonly [string, string])[]
  /** Signed headers in the order in which they are listed, with their values as they came: bytes, as latin1. */
  readonly headers: readonly (readonly [string, string])[]
  /** Hex SHA-256 of the body, or a word that stands for it. */
  readonly payload: string
}

export function requestSignature(key: Buffer, time: string, scope: Scope, signed: Signed): string {
  // Header values are bytes; everything else in it is ASCII.
  const hash = createHash('sha256').update(canonicalRequest(signed), 'latin1').digest('hex')
  return hmac(key, `AWS4-HMAC-SHA256\n${time}\n${scopeText(scope)}\n${hash}`).toString('hex')
}

export function canonicalRequest({ method, path, query, headers, payload }: Signed): string {
  const encodedQuery = query
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map((pair) => pair.join('='))
  return [
    method,
    path.split('/').map(encoded).join('/'),
    encodedQuery.join('&'),
    ...headers.map(([name, value]) => `${name}:${trimmed(value)}`),
    '',
    headers.map(([name]) => name).join(';'),
    payload,
  ].join('\n')
}

/** Spaces alone: the last byte of an "à" in UTF-8 is one that JavaScript would trim. */
function trimmed(value: string): string {
  return value.replace(/ +/g, ' ').replace(/^ | $/g, '')
}

export function signingKey(secret: string, { date, region, service }: Scope): Buffer {
  return [date, region, service, 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`))
}

/** Signs the chunks of one body, each together with the signature before it. */
export interface ChunkSigner {
  /** Of the next chunk, by the hex SHA-256 of its content. */
  chunk(hash: string): string
  /** Of the trailing headers, each written `name:value\n`. */
  trailer(text: string): string
}

export function chunkSigner(key: Buffer, time: string, scope: Scope, seed: string): ChunkSigner {
  let previous = seed
  const next = (kind: string, hash: string) => {
    previous = hmac(key, [kind, time, scopeText(scope), previous, hash].join('\n')).toString('hex')
    return previous
  }
  return {
    chunk: (hash) => next('AWS4-HMAC-SHA256-PAYLOAD', `${emptyHash}\n${hash}`),
    trailer: (text) => next('AWS4-HMAC-SHA256-TRAILER', createHash('sha256').update(text).digest('hex')),
  }
}

const emptyHash = createHash('sha256').digest('hex')

function scopeText({ date, region, service }: Scope): string {
  return `${date}/${region}/${service}/aws4_request`
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** RFC 3986: all but the unreserved characters. */
export function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
