import { constants, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { CommandOutput } from '@stackquay/engine-api'
import { EngineError } from '@stackquay/engine-api'
import { decodeRecords, decodeSegmentHeader, SEGMENT_HEADER, type SegmentHeader } from './output-log-format.ts'

/** At most so much is read before the reader asks again. */
const BATCH = 256 * 1024

/** New output is in memory: so little is read sooner than a thread is asked to. An echo passes here. */
const AT_ONCE = 16 * 1024

/** Where reading goes on: within one generation of a segment. */
interface Place {
  readonly generation: number
  readonly offset: number
  /** Position in the output that the reader has. */
  readonly position: number
}

export interface OutputLogReader {
  /** The next records; empty when there are none yet. Skips what was overwritten meanwhile. */
  next(): Promise<readonly CommandOutput[]>
  close(): Promise<void>
}

/** Reads on after a position; `anyByte` says whether a position may lie inside a record. */
export async function openOutputLog(
  paths: readonly string[],
  after: number,
  anyByte: boolean,
): Promise<OutputLogReader> {
  const files = await openSegments(paths)
  try {
    let place = await find(files, after, anyByte)
    return {
      async next() {
        for (;;) {
          const step = await readOn(files, place)
          if (step === null) return []
          place = step.place
          const chunks = step.chunks.flatMap((chunk) => (chunk.to > after ? [cut(chunk, after)] : []))
          if (chunks.length > 0) return chunks
        }
      },
      close: () => closeAll(files),
    }
  } catch (error) {
    await closeAll(files)
    throw error
  }
}

/** Positions of the first byte that is kept, and behind the last. */
export async function outputLogExtent(paths: readonly string[]): Promise<{ first: number; end: number }> {
  const files = await openSegments(paths)
  try {
    const headers = headersOf(files)
    return { first: headers[0]?.start ?? 0, end: headers.at(-1)?.end ?? 0 }
  } finally {
    await closeAll(files)
  }
}

/** Null: nothing more is there. */
async function readOn(
  files: readonly FileHandle[],
  place: Place,
): Promise<{ readonly place: Place; readonly chunks: readonly CommandOutput[] } | null> {
  const file = fileOf(files, place.generation)
  const header = headerOf(file)
  if (header?.generation !== place.generation) {
    const oldest = headersOf(files).find(({ generation }) => generation > place.generation)
    return oldest === undefined ? null : { place: beginOf(oldest), chunks: [] }
  }
  if (place.offset < header.physicalEnd) {
    const bytes = await readAt(file, place.offset, Math.min(header.physicalEnd - place.offset, BATCH))
    const { chunks, length } = decodeRecords(bytes)
    // Used again while it was read: what was read may be of either generation.
    if (headerOf(file)?.generation !== place.generation) return { place, chunks: [] }
    if (length > 0) {
      return {
        place: { ...place, offset: place.offset + length, position: chunks.at(-1)?.to ?? place.position },
        chunks,
      }
    }
  }
  const next = headerOf(fileOf(files, place.generation + 1))
  if (next === null || next.generation <= place.generation) return null
  const now = headerOf(file)
  if (now?.generation === place.generation && now.physicalEnd > header.physicalEnd) return { place, chunks: [] }
  return { place: beginOf(next), chunks: [] }
}

/** Finds the record behind a position, and refuses one that was never answered. */
async function find(files: readonly FileHandle[], after: number, anyByte: boolean): Promise<Place> {
  const headers = headersOf(files)
  const newest = headers.at(-1)
  const oldest = headers[0]
  if (!Number.isSafeInteger(after) || after < 0 || after > (newest?.end ?? 0)) throw invalidPosition(after)
  if (oldest === undefined || newest === undefined) return { generation: 0, offset: SEGMENT_HEADER, position: 0 }
  const holding = headers.findLast(({ start }) => start <= after)
  if (holding === undefined || anyByte) return beginOf(holding ?? oldest)

  let place = beginOf(holding)
  while (place.generation === holding.generation && place.position < after) {
    const step = await readOn(files, place)
    if (step === null) break
    const behind = step.chunks.findIndex((chunk) => chunk.to > after)
    const chunk = step.chunks[behind]
    if (chunk === undefined) {
      place = step.place
      continue
    }
    const before = step.chunks[behind - 1]?.to ?? place.position
    if (before !== after && chunk.from !== after) throw invalidPosition(after)
    return place
  }
  return place
}

function beginOf(header: SegmentHeader): Place {
  return { generation: header.generation, offset: SEGMENT_HEADER, position: header.start }
}

function cut(chunk: CommandOutput, after: number): CommandOutput {
  return chunk.from >= after ? chunk : { ...chunk, from: after, bytes: chunk.bytes.subarray(after - chunk.from) }
}

function fileOf(files: readonly FileHandle[], generation: number): FileHandle {
  return files[generation % files.length] as FileHandle
}

/** Oldest first. */
function headersOf(files: readonly FileHandle[]): SegmentHeader[] {
  return files
    .map(headerOf)
    .filter((header) => header !== null)
    .sort((a, b) => a.generation - b.generation)
}

const TRIES = 20

/** A header that is being written this moment is whole the next. Null: the segment holds nothing. */
function headerOf(file: FileHandle): SegmentHeader | null {
  const bytes = Buffer.allocUnsafe(SEGMENT_HEADER)
  for (let tries = 0; ; tries++) {
    const length = readSync(file.fd, bytes, 0, SEGMENT_HEADER, 0)
    const header = length < SEGMENT_HEADER ? null : decodeSegmentHeader(bytes)
    if (header !== null || length < SEGMENT_HEADER || tries === TRIES) return header
  }
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length)
  if (length <= AT_ONCE) return bytes.subarray(0, readSync(file.fd, bytes, 0, length, offset))
  const { bytesRead } = await file.read(bytes, 0, length, offset)
  return bytes.subarray(0, bytesRead)
}

async function openSegments(paths: readonly string[]): Promise<FileHandle[]> {
  const files: FileHandle[] = []
  try {
    for (const path of paths) files.push(await open(path, constants.O_RDONLY))
    return files
  } catch (error) {
    await closeAll(files)
    throw error
  }
}

async function closeAll(files: readonly FileHandle[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()))
}

function invalidPosition(position: number): EngineError {
  return new EngineError('invalid_position', `Nothing was ever answered with the position ${position}.`, {
    hint: 'Read again from the beginning, position 0.',
  })
}
