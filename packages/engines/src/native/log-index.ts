import type { Stream } from './log-files.ts'

/*
 * The index is a sequence of 16-byte entries: time in ms (6 bytes), size of stdout (5), size of stderr (5), big-endian.
 * An entry says: at that time, so much of both streams was there. The first entry's sizes are what was dropped from the
 * front of the files, so that positions only ever grow; its time is 0.
 */

export const ENTRY = 16
/** A stream's file is emptied when it is longer, and the index thinned when it has more entries. */
export const KEEP_STREAM_BYTES = 16 * 1024 * 1024
export const KEEP_ENTRIES = 200_000

export interface Sizes {
  readonly out: number
  readonly err: number
}

export function encodeEntry(time: number, sizes: Sizes): Buffer {
  const entry = Buffer.alloc(ENTRY)
  entry.writeUIntBE(time, 0, 6)
  entry.writeUIntBE(sizes.out, 6, 5)
  entry.writeUIntBE(sizes.err, 11, 5)
  return entry
}

export function decodeIndex(bytes: Buffer): TimeIndex {
  const count = Math.floor(bytes.length / ENTRY)
  const size = (entry: number, stream: Stream) => bytes.readUIntBE(entry * ENTRY + (stream === 'stdout' ? 6 : 11), 5)
  const sizes = (entry: number): Sizes => ({ out: size(entry, 'stdout'), err: size(entry, 'stderr') })
  return {
    dropped: count === 0 ? { out: 0, err: 0 } : sizes(0),
    seen: count === 0 ? { out: 0, err: 0 } : sizes(count - 1),
    lookUp(stream, position) {
      let low = 1
      let high = count
      while (low < high) {
        const middle = (low + high) >> 1
        if (size(middle, stream) > position) high = middle
        else low = middle + 1
      }
      return low < count ? { time: bytes.readUIntBE(low * ENTRY, 6), until: size(low, stream) } : null
    },
  }
}

export interface TimeIndex {
  /** Bytes that are gone from the front of the files. */
  readonly dropped: Sizes
  /** Positions up to which the time is known. */
  readonly seen: Sizes
  /** When the byte at a position was first seen, and up to where that holds; null behind what was seen. */
  lookUp(stream: Stream, position: number): { readonly time: number; readonly until: number } | null
}
