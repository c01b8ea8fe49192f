import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError } from './error.ts'
import { freeChunks } from './free-chunks.ts'

export interface StoredBytes {
  readonly bytes: number
  readonly sha256: string
}

/** Writes a new file, and resolves when it is on the disk. After an error there is none. */
export async function storeFile(path: string, content: AsyncIterable<Uint8Array>): Promise<StoredBytes> {
  const file = await open(path, 'wx', 0o600).catch(throwAsDiskFull)
  try {
    const stored = await writeAndHash(file, content)
    await file.sync()
    return stored
  } catch (error) {
    await rm(path, { force: true })
    return throwAsDiskFull(error)
  } finally {
    await file.close()
  }
}

/** While a batch goes to the file the next one is read and hashed. Chunks are kept for that long: whoever yields one leaves it alone. */
async function writeAndHash(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<StoredBytes> {
  const hash = createHash('sha256')
  let bytes = 0
  let batch: Uint8Array[] = []
  let batched = 0
  let writing = Promise.resolve()
  const write = async () => {
    const chunks = batch
    batch = []
    batched = 0
    await writing
    writing = writeAll(file, chunks)
    // Told to whoever waits for it.
    writing.catch(() => undefined)
  }
  try {
    for await (const chunk of content) {
      hash.update(chunk)
      bytes += chunk.length
      freeChunks(chunk.length)
      batch.push(chunk)
      batched += chunk.length
      if (batched >= batchBytes) await write()
    }
    await write()
    await writing
  } finally {
    // The file is closed after this, whatever went wrong.
    await writing.catch(() => undefined)
  }
  return { bytes, sha256: hash.digest('hex') }
}

const batchBytes = 1 << 20

/** One write may take only a part of it. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  const total = chunks.reduce((sum, { length }) => sum + length, 0)
  if (total === 0) return
  let { bytesWritten: done } = await file.writev([...chunks])
  if (done === total) return
  const rest = Buffer.concat(chunks)
  while (done < total) done += (await file.write(rest, done)).bytesWritten
}

export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The names in a folder survive a power loss only after this. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await folder.sync().catch(throwAsDiskFull)
  } finally {
    await folder.close()
  }
}

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch(throwAsDiskFull)
}

export function throwAsDiskFull(error: unknown): never {
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCode(error)))
    throw new ArchiveError('disk_full', null, 'The disk is full. Nothing was kept. Free some space, then try again.', {
      cause: error,
    })
  throw error
}

export function errorCode(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? '')
}

/** Null where there is no such file. */
export async function orNull<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Null when there is no such file. */
export async function readAtMost(path: string, most: number): Promise<Buffer | null> {
  const file = await orNull(open(path))
  if (file === null) return null
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min((await file.stat()).size, most)))
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/** First it gets the name of what is no backup any more: killed at any moment, it is there whole or not at all. */
export async function removeBackup(root: string, id: string, removedName: string): Promise<void> {
  const removed = join(root, removedName)
  await rm(removed, { recursive: true, force: true })
  if ((await orNull(rename(join(root, id), removed).then(() => true))) === null) return
  await syncFolder(root)
  await rm(removed, { recursive: true, force: true })
}
