import { S3Error } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { StoredHeaders } from './objects.ts'

const kept = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-type', 'expires']

/** What an object keeps of the headers of the request that makes it. Throws for wishes that would not be granted. */
export function headersToStore(exchange: Exchange): StoredHeaders {
  const { header } = exchange
  refuseUnsupported(header)
  const plain = kept.flatMap((name) => {
    const value = name === 'content-encoding' ? contentEncoding(header(name)) : header(name)
    return value === undefined || value === '' ? [] : [[name, value] as const]
  })
  const meta = metadataOf(exchange)
  const size = meta.reduce((sum, [name, value]) => sum + name.length - metaPrefix.length + value.length, 0)
  if (size > 2048) throw new S3Error('MetadataTooLarge')
  return Object.fromEntries([...plain, ...meta])
}

/** How the object comes back. */
export function headersToAnswer(headers: StoredHeaders): Record<string, string> {
  return { 'content-type': 'binary/octet-stream', ...headers }
}

const overridable: Readonly<Record<string, string>> = {
  'response-cache-control': 'cache-control',
  'response-content-disposition': 'content-disposition',
  'response-content-encoding': 'content-encoding',
  'response-content-language': 'content-language',
  'response-content-type': 'content-type',
  'response-expires': 'expires',
}

/** Headers that a signed GET asks for in place of the stored ones. */
export function overrides({ address }: Pick<Exchange, 'address'>): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, value] of address.query.entries) {
    const header = Object.hasOwn(overridable, name) ? overridable[name] : undefined
    if (header === undefined) continue
    if (!isHeaderValue(value)) throw new S3Error('InvalidArgument', `${name} cannot be the value of a header.`)
    found[header] = value
  }
  return found
}

const metaPrefix = 'x-amz-meta-'

function metadataOf({ incoming, owner, address, header }: Exchange): (readonly [string, string])[] {
  const names = new Set(Object.keys(incoming.headers))
  if (owner.signedBy === 'query') for (const [name] of address.query.entries) names.add(name.toLowerCase())
  return [...names]
    .filter((name) => name.startsWith(metaPrefix))
    .map((name) => {
      const value = header(name) ?? ''
      if (!isHeaderName(name) || !isHeaderValue(value)) throw new S3Error('InvalidArgument', `${name} is not valid.`)
      return [name, value] as const
    })
}

/** From a query they may be anything. */
function isHeaderName(text: string): boolean {
  return /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(text)
}

function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}

/** `aws-chunked` is how the body came, not what it is. */
function contentEncoding(value: string | undefined): string | undefined {
  return value
    ?.split(',')
    .map((one) => one.trim())
    .filter((one) => one.toLowerCase() !== 'aws-chunked')
    .join(', ')
}

/** Silently ignored, each of these would let somebody believe in a protection, a price or a deadline that is not there. */
export function refuseUnsupported(header: Exchange['header']): void {
  for (const name of unsupported) {
    if (header(name) !== undefined) throw new S3Error('NotImplemented', `${name} is not supported.`)
  }
  const storageClass = header('x-amz-storage-class')
  if (storageClass !== undefined && storageClass !== 'STANDARD') {
    throw new S3Error('NotImplemented', 'The only storage class is STANDARD.')
  }
  refuseAcl(header)
}

/** Those who may do everything with their own bucket are the only ones there are. */
export function refuseAcl(header: Exchange['header']): void {
  const acl = header('x-amz-acl')
  const grants = ['read', 'write', 'read-acp', 'write-acp', 'full-control'].some(
    (name) => header(`x-amz-grant-${name}`) !== undefined,
  )
  if (grants || (acl !== undefined && acl !== 'private' && acl !== 'bucket-owner-full-control')) {
    throw new S3Error('AccessControlListNotSupported')
  }
}

const unsupported = [
  'x-amz-server-side-encryption',
  'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-server-side-encryption-customer-algorithm',
  'x-amz-copy-source-server-side-encryption-customer-algorithm',
  'x-amz-object-lock-mode',
  'x-amz-object-lock-retain-until-date',
  'x-amz-object-lock-legal-hold',
  'x-amz-bucket-object-lock-enabled',
  'x-amz-tagging',
  'x-amz-website-redirect-location',
  'x-amz-write-offset-bytes',
  'x-amz-expected-bucket-owner',
  'x-amz-source-expected-bucket-owner',
]
