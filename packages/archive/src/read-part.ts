import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress, constants as zlib } from 'node:zlib'
import { ArchiveError } from './error.ts'
import { errorCode } from './files.ts'
import { freeChunks } from './free-chunks.ts'
import type { StoredPart } from './manifest.ts'

/** 8 MiB, more than any level up to 19 asks for: what a hostile frame can make us keep. */
const mostWindowLog = 23
const chunkSize = 256 << 10

/** The content of a part, with all checks. What was yielded counts only when it ends without an error. */
export async function* readContent(folder: string, entry: StoredPart, signal?: AbortSignal): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of contentOf(folder, entry, signal)) {
    bytes += chunk.length
    freeChunks(chunk.length)
    if (bytes > entry.contentBytes)
      throw damaged(entry, `it holds more than the ${entry.contentBytes} bytes that the manifest names`)
    yield chunk
  }
  if (bytes < entry.contentBytes)
    throw damaged(entry, `it ends after ${bytes} of the ${entry.contentBytes} bytes that the manifest names`)
}

function contentOf(folder: string, entry: StoredPart, signal?: AbortSignal): AsyncIterable<Buffer> {
  const stored = readStored(folder, entry, signal)
  return entry.file.endsWith('.zst') ? decompressed(entry, stored) : stored
}

async function* decompressed(entry: StoredPart, stored: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = createZstdDecompress({ params: { [zlib.ZSTD_d_windowLogMax]: mostWindowLog } })
  const feeding = pipeline(stored, stream).then(
    () => null,
    (error: unknown) => error,
  )
  try {
    yield* stream as AsyncIterable<Buffer>
    const reading = await feeding
    if (reading instanceof ArchiveError) throw reading
    // The library takes no notice of what follows the last frame.
    if (stream.bytesWritten !== entry.bytes) throw damaged(entry, 'more follows after its content')
  } catch (error) {
    const reading = await feeding
    throw reading instanceof ArchiveError ? reading : asDamaged(entry, error)
  } finally {
    stream.destroy()
    await feeding
  }
}

/** Errors of the decompression have no code of the system; those of reading do. */
function asDamaged(entry: StoredPart, error: unknown): unknown {
  const code = String((error as NodeJS.ErrnoException).code ?? '')
  return /^(ZSTD_|ERR_ZSTD|ERR_STREAM_PREMATURE|Z_)/.test(code)
    ? damaged(entry, `it cannot be decompressed (${(error as Error).message})`, error)
    : error
}

/** The bytes of a part as they are stored; throws at the end when they are not those that the manifest names. */
export async function* readStored(folder: string, entry: StoredPart, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of readRange(folder, entry, 0, entry.bytes, signal)) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== entry.sha256) throw damaged(entry, 'its checksum is not the one that the manifest names')
}

/** Some of the stored bytes, unchecked but for their number. */
export async function* readRange(
  folder: string,
  entry: StoredPart,
  from: number,
  to: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const file = await openPart(folder, entry)
  try {
    const size = (await file.stat()).size
    if (size !== entry.bytes)
      throw damaged(entry, `it has ${size} bytes, not the ${entry.bytes} that the manifest names`)
    for (let at = from; at < to; ) {
      signal?.throwIfAborted()
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(chunkSize, to - at)), { position: at })
      if (bytesRead === 0) throw damaged(entry, `it ends after ${at} of ${entry.bytes} bytes`)
      at += bytesRead
      freeChunks(bytesRead)
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

async function openPart(folder: string, entry: StoredPart): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  try {
    return await open(join(folder, entry.file), flags)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw damaged(entry, 'its file is missing')
    if (errorCode(error) === 'ELOOP') throw damaged(entry, 'its file is a link')
    throw error
  }
}

export function damaged(entry: StoredPart, detail: string, cause?: unknown): ArchiveError {
  return new ArchiveError('damaged', entry.id, detail, { cause })
}
