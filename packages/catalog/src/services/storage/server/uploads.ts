import { createHash } from 'node:crypto'
import { type Checksum, type ChecksumName, type ChecksumType, checksumHeader, checksumOfParts } from './checksum.ts'
import { S3Error } from './errors.ts'
import { findObject, replaceObject, type StoredHeaders, type StoredObject } from './objects.ts'
import { largestPartNumber } from './parameters.ts'
import type { Store } from './store.ts'

/** A multipart upload that is under way. */
export interface Upload {
  readonly id: string
  readonly headers: StoredHeaders
  readonly checksum: { readonly name: ChecksumName; readonly type: ChecksumType } | null
}

export interface UploadedPart {
  readonly number: number
  readonly content: string
  readonly size: number
  /** Hex; the part's ETag. */
  readonly md5: string
  /** Base64, of the upload's algorithm. */
  readonly checksum: string | null
  readonly modified: number
}

/** What a client says of a part when it completes an upload. */
export interface ListedPart {
  readonly number: number
  readonly etag: string
  checksum(name: ChecksumName): string | undefined
}

export function requireUpload({ database }: Pick<Store, 'database'>, bucket: string, key: string, id: string): Upload {
  const row = database.get(
    'SELECT headers, checksum_name, checksum_type FROM upload WHERE id = ? AND bucket = ? AND key = ?',
    id,
    bucket,
    Buffer.from(key),
  )
  if (row === undefined) throw new S3Error('NoSuchUpload')
  const name = row.checksum_name as ChecksumName | null
  return {
    id,
    headers: JSON.parse(String(row.headers)) as StoredHeaders,
    checksum: name === null ? null : { name, type: row.checksum_type as ChecksumType },
  }
}

export function partsOf(
  { database }: Pick<Store, 'database'>,
  id: string,
  after = 0,
  limit = largestPartNumber,
): UploadedPart[] {
  return database
    .all(
      `SELECT number, content, size, md5, checksum, modified FROM part WHERE upload = ? AND number > ?
       ORDER BY number LIMIT ?`,
      id,
      after,
      limit,
    )
    .map((row) => ({
      number: Number(row.number),
      content: String(row.content),
      size: Number(row.size),
      md5: String(row.md5),
      checksum: row.checksum === null ? null : String(row.checksum),
      modified: Number(row.modified),
    }))
}

/** Inside a change. A part that is there already is replaced. */
export function putPart({ database }: Store, id: string, part: UploadedPart, gone: (content: string) => void): void {
  const old = database.get('SELECT content FROM part WHERE upload = ? AND number = ?', id, part.number)
  if (old !== undefined) gone(String(old.content))
  database.run(
    'INSERT OR REPLACE INTO part (upload, number, content, size, md5, checksum, modified) VALUES (?, ?, ?, ?, ?, ?, ?)',
    id,
    part.number,
    part.content,
    part.size,
    part.md5,
    part.checksum,
    part.modified,
  )
}

/** Inside a change: the upload becomes the object. */
export function completeUpload(
  store: Store,
  at: { readonly bucket: string; readonly key: string; readonly id: string },
  listed: readonly ListedPart[],
  expected: { readonly size: string | undefined; checksum(header: string): string | undefined },
  gone: (content: string) => void,
): StoredObject {
  const upload = requireUpload(store, at.bucket, at.key, at.id)
  const uploaded = new Map(partsOf(store, at.id).map((part) => [part.number, part]))
  const parts = listed.map((said) => matching(said, uploaded.get(said.number), upload))
  if (parts.slice(0, -1).some(({ size }) => size < smallestPart)) throw new S3Error('EntityTooSmall')
  const size = parts.reduce((sum, part) => sum + part.size, 0)
  if (expected.size !== undefined && expected.size !== String(size)) {
    throw new S3Error(
      'InvalidRequest',
      `The parts have ${size} bytes, not the ${expected.size} of x-amz-mp-object-size.`,
    )
  }
  const object = replaceObject(
    store,
    at.bucket,
    at.key,
    {
      size,
      etag: `${md5OfMd5s(parts)}-${parts.length}`,
      headers: upload.headers,
      checksum: wholeChecksum(upload, parts, expected.checksum),
      upload: at.id,
      pieces: parts,
    },
    gone,
  )
  removeUpload(store, at.id, gone)
  return object
}

const smallestPart = 5 * 1024 * 1024

/** The answer to a client that did not hear the first: the object that this upload became. */
export function completedBy(store: Store, bucket: string, key: string, id: string): StoredObject | null {
  const object = findObject(store, bucket, key)
  return object?.upload === id ? object : null
}

/** Inside a change. Contents that an object took over are told apart when it is on disk. */
export function removeUpload({ database }: Store, id: string, gone: (content: string) => void): void {
  for (const { content } of database.all('SELECT content FROM part WHERE upload = ?', id)) gone(String(content))
  database.run('DELETE FROM part WHERE upload = ?', id)
  database.run('DELETE FROM upload WHERE id = ?', id)
}

function matching(said: ListedPart, part: UploadedPart | undefined, { checksum }: Upload): UploadedPart {
  if (part === undefined || part.md5 !== said.etag) {
    throw new S3Error('InvalidPart', `Part ${said.number} was not uploaded, or its ETag is another.`)
  }
  const sum = checksum === null ? undefined : said.checksum(checksum.name)
  if (sum !== undefined && sum !== part.checksum) {
    throw new S3Error('InvalidPart', `The checksum of part ${said.number} is another.`)
  }
  return part
}

function md5OfMd5s(parts: readonly UploadedPart[]): string {
  const hash = createHash('md5')
  for (const { md5 } of parts) hash.update(md5, 'hex')
  return hash.digest('hex')
}

function wholeChecksum(
  { checksum }: Upload,
  parts: readonly UploadedPart[],
  expected: (header: string) => string | undefined,
): Checksum | null {
  if (checksum === null) return null
  const { name, type } = checksum
  const values = parts.map(({ checksum: value, size }) => ({ value: value ?? '', size }))
  const whole = checksumOfParts(name, type, values)
  const promised = expected(checksumHeader(name))
  if (promised !== undefined && promised !== whole.value) {
    throw new S3Error('BadDigest', `The ${name} of the object is another.`)
  }
  return whole
}
