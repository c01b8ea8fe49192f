import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Address } from './address.ts'
import { S3Error } from './errors.ts'
import { type ChunkSigner, chunkSigner, requestSignature, type Scope, signingKey } from './signature.ts'

export interface Credentials {
  readonly accessKey: string
  readonly secretKey: string
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'owner'; readonly signedBy: 'header' | 'query'; readonly payload: Payload }

/** How the body is protected. */
export type Payload =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'hashed'; readonly sha256: string }
  /** `aws-chunked`; without a signer the chunks are not signed. */
  | { readonly kind: 'chunked'; readonly signer: ChunkSigner | null; readonly trailer: boolean }

export type Authenticate = (request: IncomingMessage, address: Address, now: number) => Caller

/** Who sends this request. Throws when it is signed wrongly: an attempt is never answered as an anonymous request. */
export function createAuthenticate(credentials: Credentials): Authenticate {
  const keyOf = rememberedKeys(credentials.secretKey)
  return (request, address, now) => {
    const claim = claimOf(request, address)
    if (claim === null) return { kind: 'anonymous' }
    if (!equal(claim.accessKey, credentials.accessKey)) throw new S3Error('InvalidAccessKeyId')
    refuseWrongTime(claim, now)
    refuseUnsigned(request, claim.signedHeaders)
    const key = keyOf(claim.scope)
    const signature = requestSignature(key, claim.time, claim.scope, {
      method: request.method ?? 'GET',
      path: address.path,
      query: address.query.entries.filter(([name]) => name !== 'X-Amz-Signature'),
      headers: claim.signedHeaders.map((name) => [name, headerValue(request, name)]),
      payload: claim.payload,
    })
    if (!equal(signature, claim.signature)) throw new S3Error('SignatureDoesNotMatch')
    const signer = () => chunkSigner(key, claim.time, claim.scope, signature)
    return { kind: 'owner', signedBy: claim.signedBy, payload: payloadOf(claim.payload, signer) }
  }
}

/** What a request says about its signature. */
interface Claim {
  readonly signedBy: 'header' | 'query'
  readonly accessKey: string
  readonly scope: Scope
  readonly signedHeaders: readonly string[]
  readonly signature: string
  /** `20130524T000000Z` */
  readonly time: string
  /** Seconds; null for a signature in the header, which is good for the 15 minutes of the clock. */
  readonly expires: number | null
  readonly payload: string
}

function claimOf(request: IncomingMessage, address: Address): Claim | null {
  const header = request.headers.authorization
  const parameter = (name: string) => address.query.get(name)
  const inQuery = parameter('X-Amz-Algorithm') !== undefined || parameter('X-Amz-Signature') !== undefined
  if (header !== undefined && inQuery) {
    throw new S3Error('InvalidArgument', 'Sign in the header or in the query, not in both.')
  }
  if (header !== undefined) return claimInHeader(header, request)
  if (inQuery) return claimInQuery(parameter, request)
  if (parameter('AWSAccessKeyId') !== undefined) throw new S3Error('InvalidRequest', onlyVersion4)
  return null
}

const onlyVersion4 = 'Only signature version 4 (AWS4-HMAC-SHA256) is accepted.'

function claimInHeader(header: string, request: IncomingMessage): Claim {
  if (!header.startsWith('AWS4-HMAC-SHA256 ')) throw new S3Error('InvalidRequest', onlyVersion4)
  const [, credential = '', signedHeaders = '', signature = ''] =
    /^AWS4-HMAC-SHA256 +Credential=(.+?), *SignedHeaders=([^,]+?), *Signature=([0-9a-f]{64})$/.exec(header) ?? []
  const scope = scopeOf(credential)
  const payload = request.headers['x-amz-content-sha256']
  const time = timeOf(request)
  if (scope === null || time === null) throw new S3Error('AuthorizationHeaderMalformed')
  if (typeof payload !== 'string') throw new S3Error('InvalidRequest', 'The header x-amz-content-sha256 is missing.')
  const names = signedHeaders.split(';')
  if (!names.includes('host')) throw new S3Error('AuthorizationHeaderMalformed', 'The header "host" must be signed.')
  return { signedBy: 'header', ...scope, signedHeaders: names, signature, time, expires: null, payload }
}

function claimInQuery(parameter: (name: string) => string | undefined, request: IncomingMessage): Claim {
  if (parameter('X-Amz-Algorithm') !== 'AWS4-HMAC-SHA256') throw new S3Error('InvalidRequest', onlyVersion4)
  const scope = scopeOf(parameter('X-Amz-Credential') ?? '')
  const time = parameter('X-Amz-Date') ?? ''
  const expires = parameter('X-Amz-Expires') ?? ''
  const names = (parameter('X-Amz-SignedHeaders') ?? '').split(';')
  const signature = parameter('X-Amz-Signature') ?? ''
  const wellFormed = scope !== null && isTime(time) && /^\d{1,6}$/.test(expires) && names.includes('host')
  if (!wellFormed) throw new S3Error('AuthorizationQueryParametersError')
  if (Number(expires) < 1 || Number(expires) > aWeek) {
    throw new S3Error('AuthorizationQueryParametersError', 'X-Amz-Expires must be between 1 and 604800 seconds.')
  }
  const inHeader = request.headers['x-amz-content-sha256']
  const payload = parameter('X-Amz-Content-Sha256') ?? (typeof inHeader === 'string' ? inHeader : 'UNSIGNED-PAYLOAD')
  return { signedBy: 'query', ...scope, signedHeaders: names, signature, time, expires: Number(expires), payload }
}

const aWeek = 604_800

/** Any region is taken: the signature covers it, and there is only this one place. The access key may hold slashes. */
function scopeOf(credential: string): Pick<Claim, 'accessKey' | 'scope'> | null {
  const [, accessKey, date, region, service] =
    /^(.+)\/(\d{8})\/([A-Za-z0-9-]{1,64})\/(s3)\/aws4_request$/.exec(credential) ?? []
  if (accessKey === undefined || date === undefined || region === undefined || service === undefined) return null
  return { accessKey, scope: { date, region, service } }
}

function timeOf(request: IncomingMessage): string | null {
  const amazon = request.headers['x-amz-date']
  if (typeof amazon === 'string') return isTime(amazon) ? amazon : null
  const parsed = Date.parse(request.headers.date ?? '')
  return Number.isNaN(parsed) ? null : new Date(parsed).toISOString().replace(/[-:]|\.\d+/g, '')
}

function isTime(text: string): boolean {
  return /^\d{8}T\d{6}Z$/.test(text) && !Number.isNaN(instant(text))
}

function instant(time: string): number {
  return Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}

function refuseWrongTime({ time, scope, expires }: Claim, now: number): void {
  const signedAt = instant(time)
  if (!time.startsWith(scope.date)) throw new S3Error('SignatureDoesNotMatch', 'The credential is of another day.')
  if (signedAt > now + allowedSkew) throw new S3Error('RequestTimeTooSkewed')
  if (expires === null && signedAt < now - allowedSkew) throw new S3Error('RequestTimeTooSkewed')
  if (expires !== null && now > signedAt + expires * 1000) throw new S3Error('AccessDenied', 'Request has expired')
}

const allowedSkew = 15 * 60_000

/** A header that means something here and is not signed may have been added by anybody on the way. */
function refuseUnsigned(request: IncomingMessage, signedHeaders: readonly string[]): void {
  const missing = Object.keys(request.headers).filter(
    (name) => name.startsWith('x-amz-') && !signedHeaders.includes(name),
  )
  if (missing.length > 0) throw new S3Error('AccessDenied', `These headers are not signed: ${missing.join(', ')}.`)
}

/** As it came, without the white space around it: Node would join some repeated headers in another way, and drop others. */
function headerValue(request: IncomingMessage, name: string): string {
  const values: string[] = []
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    if (request.rawHeaders[at]!.toLowerCase() === name) values.push(request.rawHeaders[at + 1]!)
  }
  return values.join(',')
}

function payloadOf(word: string, signer: () => ChunkSigner): Payload {
  switch (word) {
    case 'UNSIGNED-PAYLOAD':
      return { kind: 'unsigned' }
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return { kind: 'chunked', signer: null, trailer: true }
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
      return { kind: 'chunked', signer: signer(), trailer: false }
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return { kind: 'chunked', signer: signer(), trailer: true }
    default:
      if (/^[0-9a-f]{64}$/.test(word)) return { kind: 'hashed', sha256: word }
      if (word.startsWith('STREAMING-')) throw new S3Error('NotImplemented', `${word} is not supported.`)
      throw new S3Error(
        'InvalidArgument',
        'x-amz-content-sha256 must be a SHA-256 in hex, UNSIGNED-PAYLOAD or STREAMING-….',
      )
  }
}

/** In a time that does not tell how much of it fits. */
export function equal(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** One day's key signs all requests of the day. */
function rememberedKeys(secret: string): (scope: Scope) => Buffer {
  const keys = new Map<string, Buffer>()
  return (scope) => {
    const name = `${scope.date}/${scope.region}`
    const known = keys.get(name)
    if (known !== undefined) return known
    const key = signingKey(secret, scope)
    // Callers choose date and region before their signature is checked.
    if (keys.size >= 16) keys.clear()
    keys.set(name, key)
    return key
  }
}
