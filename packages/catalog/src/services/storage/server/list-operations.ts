import type { Query } from './address.ts'
import { ownerElement } from './bucket-operations.ts'
import type { Checksum } from './checksum.ts'
import type { Row } from './database.ts'
import { S3Error } from './errors.ts'
import { type Operation, xmlAnswer } from './exchange.ts'
import { listPage, type Page } from './listing.ts'
import { bucketAt, limitOf } from './parameters.ts'
import { encoded } from './signature.ts'
import type { Store } from './store.ts'
import { element, type Markup, optional, xmlDocument } from './xml.ts'

/** ListObjects and, with `list-type=2`, ListObjectsV2. */
export const listObjects: Operation = ({ store, address: { query, ...address } }) => {
  const { name } = bucketAt(store, { ...address, query })
  const version = query.get('list-type') === '2' ? second(query) : first(query)
  const prefix = query.get('prefix') ?? ''
  const delimiter = query.get('delimiter') ?? ''
  const limit = limitOf(query.get('max-keys'), 'max-keys', 1000, 1000)
  const write = writer(query)
  const page = listPage(
    { prefix: Buffer.from(prefix), delimiter: Buffer.from(delimiter), after: version.after, limit },
    (from, count) => readObjects(store, name, from, count),
  )
  return xmlAnswer(
    xmlDocument(
      'ListBucketResult',
      element('Name', name),
      element('Prefix', write(prefix)),
      optional('Delimiter', write(delimiter)),
      element('MaxKeys', limit),
      optional('EncodingType', query.get('encoding-type')),
      element('IsTruncated', page.next !== null),
      version.fields(page, write),
      page.entries.map((entry) =>
        entry.kind === 'item' ? contentsElement(entry.item, version.withOwner, write) : null,
      ),
      page.entries.map((entry) =>
        entry.kind === 'prefix' ? element('CommonPrefixes', element('Prefix', write(entry.prefix.toString()))) : null,
      ),
    ),
  )
}

interface Version {
  readonly after: Buffer
  readonly withOwner: boolean
  fields(page: Page<Listed>, write: (text: string) => string): readonly (Markup | null)[]
}

function first(query: Query): Version {
  const marker = query.get('marker') ?? ''
  return {
    after: Buffer.from(marker),
    withOwner: true,
    fields: (page, write) => [
      element('Marker', write(marker)),
      page.next === null ? null : element('NextMarker', write(page.next.toString())),
    ],
  }
}

function second(query: Query): Version {
  const token = query.get('continuation-token')
  const startAfter = query.get('start-after')
  return {
    after: token === undefined ? Buffer.from(startAfter ?? '') : Buffer.from(token, 'base64url'),
    withOwner: query.get('fetch-owner') === 'true',
    fields: (page, write) => [
      element('KeyCount', page.entries.length),
      optional('ContinuationToken', token),
      optional('StartAfter', startAfter === undefined ? null : write(startAfter)),
      optional('NextContinuationToken', page.next?.toString('base64url')),
    ],
  }
}

/** How keys are written: as they are, or percent-encoded for clients that must have every character. */
export function writer(query: Query): (text: string) => string {
  const type = query.get('encoding-type')
  if (type === undefined || type === '') return (text) => text
  if (type !== 'url') throw new S3Error('InvalidArgument', 'encoding-type can only be "url".')
  return (text) => text.split('/').map(encoded).join('/')
}

interface Listed {
  readonly key: Buffer
  readonly row: Row
}

function readObjects({ database }: Store, bucket: string, from: Buffer, count: number): readonly Listed[] {
  return database
    .all(
      'SELECT key, size, etag, modified, checksum FROM object WHERE bucket = ? AND key >= ? ORDER BY key LIMIT ?',
      bucket,
      from,
      count,
    )
    .map((row) => ({ key: Buffer.from(row.key as Uint8Array), row }))
}

function contentsElement({ key, row }: Listed, withOwner: boolean, write: (text: string) => string): Markup {
  const checksum = row.checksum === null ? null : (JSON.parse(String(row.checksum)) as Checksum)
  return element(
    'Contents',
    element('Key', write(key.toString())),
    element('LastModified', new Date(Number(row.modified)).toISOString()),
    element('ETag', `"${row.etag}"`),
    checksum && [element('ChecksumAlgorithm', checksum.name.toUpperCase()), element('ChecksumType', checksum.type)],
    element('Size', Number(row.size)),
    withOwner ? ownerElement : null,
    element('StorageClass', 'STANDARD'),
  )
}
