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

async function writeAndHash(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<StoredBytes> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of content) {
    hash.update(chunk)
    bytes += chunk.length
    freeChunks(chunk.length)
    // One write may take only a part of it.
    for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten
  }
  return { bytes, sha256: hash.digest('hex') }
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
