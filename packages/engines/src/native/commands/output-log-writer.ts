import { fsyncSync, ftruncateSync, writeSync, writevSync } from 'node:fs'
import { lengthOfCharacters } from './characters.ts'
import {
  encodeRecordHeader,
  encodeSegmentHeader,
  MAX_CHUNK,
  type OutputStream,
  RECORD_HEADER,
  SEGMENT_HEADER,
  type SegmentHeader,
} from './output-log-format.ts'

export interface OutputLogWriter {
  /** Never throws: what cannot be kept is dropped, and the gap is written down as soon as something can be kept again. */
  write(stream: OutputStream, bytes: Buffer, time: number): void
  /** Bytes that were dropped in all. */
  dropped(): number
  sync(): void
}

/**
 * Writes are synchronous: while the disk does not take them the shim reads nothing, so the program waits.
 * The descriptors are those of the segments, opened for reading and writing.
 */
export function createOutputLogWriter(segments: readonly number[], segmentBytes: number): OutputLogWriter {
  const largest = Math.min(MAX_CHUNK, segmentBytes - SEGMENT_HEADER - RECORD_HEADER)
  let generation = -1
  let descriptor = -1
  let start = 0
  let position = 0
  let physicalEnd = 0
  let dropped = 0
  let untold = 0

  /** The next segment loses what it held. When even its header finds no room, the next record tries again. */
  function turn(): void {
    const next = segments[(generation + 1) % segments.length] ?? -1
    descriptor = -1
    ftruncateSync(next, 0)
    writeHeader(next, { generation: generation + 1, start: position, end: position, physicalEnd: SEGMENT_HEADER })
    generation += 1
    start = position
    physicalEnd = SEGMENT_HEADER
    descriptor = next
  }

  /** The record counts from the moment the header says so. */
  function append(stream: OutputStream, bytes: Buffer, time: number): void {
    const length = RECORD_HEADER + bytes.length
    if (descriptor < 0 || physicalEnd + length > segmentBytes) turn()
    const header = encodeRecordHeader(stream, time, position, bytes.length)
    if (writevSync(descriptor, [header, bytes], physicalEnd) !== length) throw new Error('The disk is full.')
    const end = position + bytes.length
    writeHeader(descriptor, { generation, start, end, physicalEnd: physicalEnd + length })
    position = end
    physicalEnd += length
  }

  function tellGap(stream: OutputStream, time: number): void {
    if (untold === 0) return
    const notice = `\n[${untold} bytes of output were not kept: the disk was full]\n`
    append(stream === 'terminal' ? stream : 'stderr', Buffer.from(notice), time)
    untold = 0
  }

  function keep(stream: OutputStream, bytes: Buffer, time: number): void {
    try {
      tellGap(stream, time)
      append(stream, bytes, time)
    } catch {
      position += bytes.length
      dropped += bytes.length
      untold += bytes.length
    }
  }

  return {
    write(stream, bytes, time) {
      for (let at = 0; at < bytes.length; ) {
        const length = lengthOfCharacters(bytes.subarray(at), largest)
        keep(stream, bytes.subarray(at, at + length), time)
        at += length
      }
    },
    dropped: () => dropped,
    sync() {
      for (const segment of segments) {
        try {
          fsyncSync(segment)
        } catch {}
      }
    },
  }
}

function writeHeader(descriptor: number, header: SegmentHeader): void {
  const bytes = encodeSegmentHeader(header)
  if (writeSync(descriptor, bytes, 0, bytes.length, 0) !== bytes.length) throw new Error('The disk is full.')
}
