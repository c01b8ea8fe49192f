import { createHash, timingSafeEqual } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { S3Error } from './errors.ts'
import type { Answer } from './exchange.ts'
import { objectOf, openContent, type StoredObject } from './objects.ts'
import type { Store } from './store.ts'
import { type TarFile, tarOf } from './tar-files.ts'

/** The paths that `service-backup` asks, in no bucket as the one of the health check. Null for every other. */
export function backupOperation(path: string): ((store: Store) => Promise<Answer>) | null {
  if (path === '/-/copy') return copyOfData
  return path === '/-/contents' ? contentsOfData : null
}

/** Who copies all data shows the secret key itself, and is beside this program: nothing is signed. */
export function requireSecret({ headers }: IncomingMessage, secretKey: string): void {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  if (!timingSafeEqual(hash(headers.authorization ?? ''), hash(`Bearer ${secretKey}`)))
    throw new S3Error('AccessDenied')
}

/**
 * The rows of one moment and all contents that they name, as a tar of the data folder. Objects may be written, replaced and
 * removed meanwhile: contents never change, and until the end none is removed.
 */
async function copyOfData(store: Store): Promise<Answer> {
  const goOn = store.holdRemovals()
  const copy = store.contents.temporaryFile()
  const release = () => {
    rmSync(copy, { force: true })
    goOn()
  }
  try {
    await store.copyTo(copy)
  } catch (error) {
    release()
    throw error
  }
  const headers = { 'Content-Type': 'application/x-tar' }
  return { status: 200, headers, body: { chunks: () => tarOf(filesOf(copy, store)), release } }
}

function* filesOf(copy: string, store: Store): Generator<TarFile> {
  const database = new DatabaseSync(copy)
  try {
    // No further file belongs to it then.
    database.exec('PRAGMA journal_mode = DELETE')
    yield { name: 'storage.sqlite', path: copy }
    const named = database.prepare('SELECT content FROM piece UNION SELECT content FROM part').iterate()
    for (const { content } of named) yield store.contents.fileOf(String(content))
  } finally {
    database.close()
  }
}

/** The longest that reading may take: a connection without a word for longer is cut off. */
const readingMilliseconds = 240_000

/**
 * Of each bucket how many objects it has, how many bytes, and a checksum over keys, headers and all bytes. Those that are left
 * when the time is over are counted alone, and `read` is smaller than `objects`.
 */
async function contentsOfData(store: Store): Promise<Answer> {
  const deadline = Date.now() + readingMilliseconds
  const buckets: Record<string, unknown> = {}
  for (const { name } of store.database.all('SELECT name FROM bucket ORDER BY name')) {
    buckets[String(name)] = await contentsOf(store, String(name), deadline)
  }
  const uploads = Number(store.database.get('SELECT count(*) AS count FROM upload')?.count)
  const parts = Number(store.database.get('SELECT count(*) AS count FROM part')?.count)
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json' },
    body: `${JSON.stringify({ buckets, uploads, parts })}\n`,
  }
}

async function contentsOf(store: Store, bucket: string, deadline: number) {
  const hash = createHash('sha256')
  const counted = store.database.get(
    'SELECT count(*) AS objects, coalesce(sum(size), 0) AS bytes FROM object WHERE bucket = ?',
    bucket,
  )
  let read = 0
  for (let after = Buffer.alloc(0); Date.now() < deadline; read += 1) {
    const row = store.database.get(
      `SELECT key, id, size, etag, modified, headers, checksum, upload FROM object WHERE bucket = ? AND key > ?
       ORDER BY key LIMIT 1`,
      bucket,
      after,
    )
    if (row === undefined) break
    after = Buffer.from(row.key as Uint8Array)
    const object = objectOf(row)
    hash.update(JSON.stringify([after.toString('base64'), object.size, object.etag, object.modified, object.headers]))
    hash.update(await digestOf(store, object))
  }
  return { objects: Number(counted?.objects), bytes: Number(counted?.bytes), read, checksum: hash.digest('hex') }
}

async function digestOf(store: Store, object: StoredObject): Promise<Buffer> {
  const { chunks, release } = openContent(store, object, 0, object.size)
  const hash = createHash('sha256')
  try {
    for await (const chunk of chunks()) hash.update(chunk)
  } finally {
    release()
  }
  return hash.digest()
}
