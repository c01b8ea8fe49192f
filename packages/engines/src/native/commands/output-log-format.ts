import { crc32 } from 'node:zlib'
import type { CommandOutput } from '@stackquay/engine-api/commands'

/*
 * An output log is a few segments that are used in turn, so that the oldest output goes first and disk use is bounded.
 * A segment begins with a header that is written again after every record: what lies behind `physicalEnd` was never
 * finished. A reader that finds the same generation before and after it read has read what was meant for it.
 */

export const SEGMENTS = 4
export const SEGMENT_HEADER = 32
export const RECORD_HEADER = 24
/** Largest chunk of output in one record. */
export const MAX_CHUNK = 65_536

const SEGMENT_MAGIC = 0x314a5153
const RECORD_MAGIC = 0xa5
const STREAMS = ['stdout', 'stderr', 'terminal'] as const

export type OutputStream = (typeof STREAMS)[number]

export interface SegmentHeader {
  /** Grows by one with every turn. */
  readonly generation: number
  /** Positions of the output in it. */
  readonly start: number
  readonly end: number
  /** Bytes of the file that count. */
  readonly physicalEnd: number
}

export function segmentBytesOf(keepBytes: number): number {
  return Math.max(Math.floor(keepBytes / SEGMENTS), 4096)
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.allocUnsafe(SEGMENT_HEADER)
  bytes.writeUInt32LE(SEGMENT_MAGIC, 0)
  bytes.writeUInt32LE(header.generation, 4)
  bytes.writeDoubleLE(header.start, 8)
  bytes.writeDoubleLE(header.end, 16)
  bytes.writeUInt32LE(header.physicalEnd, 24)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 28)), 28)
  return bytes
}

/** Null for one that was never written, or is being written this moment. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | null {
  if (bytes.length < SEGMENT_HEADER || bytes.readUInt32LE(0) !== SEGMENT_MAGIC) return null
  if (bytes.readUInt32LE(28) !== crc32(bytes.subarray(0, 28))) return null
  return {
    generation: bytes.readUInt32LE(4),
    start: bytes.readDoubleLE(8),
    end: bytes.readDoubleLE(16),
    physicalEnd: bytes.readUInt32LE(24),
  }
}

export function encodeRecordHeader(stream: OutputStream, time: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(RECORD_HEADER)
  bytes.writeUInt32LE(0, 0)
  bytes.writeUInt8(RECORD_MAGIC, 0)
  bytes.writeUInt8(STREAMS.indexOf(stream), 1)
  bytes.writeUInt32LE(length, 4)
  bytes.writeDoubleLE(time, 8)
  bytes.writeDoubleLE(position, 16)
  return bytes
}

/** Whole records at the beginning of these bytes, and how many bytes they take. */
export function decodeRecords(bytes: Buffer): { readonly chunks: CommandOutput[]; readonly length: number } {
  const chunks: CommandOutput[] = []
  let at = 0
  while (at + RECORD_HEADER <= bytes.length) {
    const length = bytes.readUInt32LE(at + 4)
    const stream = STREAMS[bytes.readUInt8(at + 1)]
    const next = at + RECORD_HEADER + length
    if (bytes.readUInt8(at) !== RECORD_MAGIC || stream === undefined || next > bytes.length) break
    const from = bytes.readDoubleLE(at + 16)
    chunks.push({
      stream,
      time: bytes.readDoubleLE(at + 8),
      bytes: bytes.subarray(at + RECORD_HEADER, next),
      from,
      to: from + length,
    })
    at = next
  }
  return { chunks, length: at }
}
