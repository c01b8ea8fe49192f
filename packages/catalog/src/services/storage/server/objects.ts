import type { Checksum } from './checksum.ts'
import type { Piece } from './contents.ts'
import type { Row } from './database.ts'
import { S3Error } from './errors.ts'
import type { Store } from './store.ts'

export interface StoredObject {
  readonly id: number
  readonly size: number
  /** Without quotes. */
  readonly etag: string
  /** Milliseconds. */
  readonly modified: number
  readonly headers: StoredHeaders
  readonly checksum: Checksum | null
  /** The multipart upload that made it. */
  readonly upload: string | null
}

/** Headers that come back with the object, in lower case; `x-amz-meta-…` among them. */
export type StoredHeaders = Readonly<Record<string, string>>

export type NewObject = Omit<StoredObject, 'id' | 'modified'> & { readonly pieces: readonly Piece[] }

/** An object whose bytes stay readable until `release`, whatever happens to it meanwhile. */
export interface OpenedContent {
  chunks(): AsyncIterable<Buffer>
  release(): void
}

export interface Bucket {
  readonly name: string
  readonly created: number
  readonly publicRead: boolean
}

export function findBucket({ database }: Pick<Store, 'database'>, name: string): Bucket | undefined {
  const row = database.get('SELECT created, public_read FROM bucket WHERE name = ?', name)
  return row && { name, created: Number(row.created), publicRead: row.public_read === 1 }
}

export function requireBucket(store: Pick<Store, 'database'>, name: string): Bucket {
  const bucket = findBucket(store, name)
  if (bucket === undefined) throw new S3Error('NoSuchBucket')
  return bucket
}

export function findObject(
  { database }: Pick<Store, 'database'>,
  bucket: string,
  key: string,
): StoredObject | undefined {
  const row = database.get(
    'SELECT id, size, etag, modified, headers, checksum, upload FROM object WHERE bucket = ? AND key = ?',
    bucket,
    Buffer.from(key),
  )
  return row && objectOf(row)
}

export function objectOf(row: Row): StoredObject {
  return {
    id: Number(row.id),
    size: Number(row.size),
    etag: String(row.etag),
    modified: Number(row.modified),
    headers: JSON.parse(String(row.headers)) as StoredHeaders,
    checksum: row.checksum === null ? null : (JSON.parse(String(row.checksum)) as Checksum),
    upload: row.upload === null ? null : String(row.upload),
  }
}

export function piecesOf({ database }: Pick<Store, 'database'>, object: StoredObject): readonly Piece[] {
  return database
    .all('SELECT content, size FROM piece WHERE object = ? ORDER BY position', object.id)
    .map(({ content, size }) => ({ content: String(content), size: Number(size) }))
}

/** Bytes from `start` up to and without `end`. Call it in the same turn in which the object was found. */
export function openContent(store: Store, object: StoredObject, start: number, end: number): OpenedContent {
  const pieces = piecesOf(store, object)
  const release = store.contents.retain(pieces.map(({ content }) => content))
  return { chunks: () => store.contents.read(pieces, start, end), release }
}

/** Inside a change: puts the object in the place of the one that is there. */
export function replaceObject(
  store: Store,
  bucket: string,
  key: string,
  object: NewObject,
  gone: (content: string) => void,
): StoredObject {
  requireBucket(store, bucket)
  removeObject(store, bucket, key, gone)
  // Last-Modified has whole seconds; a list that said more would not agree with it.
  const modified = Math.floor(Date.now() / 1000) * 1000
  const { database } = store
  const row = database.get(
    `INSERT INTO object (bucket, key, size, etag, modified, headers, checksum, upload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     RETURNING id`,
    bucket,
    Buffer.from(key),
    object.size,
    object.etag,
    modified,
    JSON.stringify(object.headers),
    object.checksum === null ? null : JSON.stringify(object.checksum),
    object.upload,
  )
  const id = Number(row?.id)
  for (const [position, { content, size }] of object.pieces.entries()) {
    database.run('INSERT INTO piece (object, position, content, size) VALUES (?, ?, ?, ?)', id, position, content, size)
  }
  return { ...object, id, modified }
}

/** Inside a change. No such object is fine, as it is in S3. */
export function removeObject(store: Store, bucket: string, key: string, gone: (content: string) => void): void {
  const object = findObject(store, bucket, key)
  if (object === undefined) return
  for (const { content } of piecesOf(store, object)) gone(content)
  store.database.run('DELETE FROM piece WHERE object = ?', object.id)
  store.database.run('DELETE FROM object WHERE id = ?', object.id)
}
