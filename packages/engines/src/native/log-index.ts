import type { Stream } from './log-files.ts'

/*
 * The index is a sequence of 16-byte entries: time in ms (6 bytes), size of stdout (5), size of stderr (5), big-endian.
 * An entry says: at that time, so much of both streams was there. Entries of time 0 stand in front and say what is gone:
 * the first the bytes that were cut off the files, by which offsets in them are smaller than positions; a second, when
 * there is one, the positions in front of which there is nothing but a hole. So positions only ever grow.
 */

export const ENTRY = 16
/** The index is thinned when it has more entries. */
export const KEEP_ENTRIES = 200_000

export interface Sizes {
  readonly out: number
  readonly err: number
}

export interface TimeIndex {
  /** A position less this is an offset in the file. */
  readonly base: Sizes
  /** Nothing is left in front of these positions, which are where lines begin. */
  readonly front: Sizes
  /** Positions up to which the time is known. */
  readonly seen: Sizes
  /** Time of the last entry; 0 when there is none. */
  readonly last: number
  /** When the byte at a position was first seen, and up to where that holds; null behind what was seen. */
  lookUp(stream: Stream, position: number): { readonly time: number; readonly until: number } | null
  /** Everything in front of these positions, and nothing else, was seen before the time. */
  before(time: number): Sizes
  /** Where a cut lies that leaves the newest so many bytes of both streams together, with one time for both. */
  newest(bytes: number, sizes: Sizes): Sizes
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
  const time = (entry: number) => bytes.readUIntBE(entry * ENTRY, 6)
  const none: Sizes = { out: 0, err: 0 }
  const base = count === 0 ? none : sizes(0)
  const heads = headsOf(bytes)
  const front = heads < 2 ? base : sizes(1)
  /** The first entry of which this holds; as many as there are when it holds for none. */
  const first = (holds: (entry: number) => boolean): number => {
    let low = heads
    let high = count
    while (low < high) {
      const middle = (low + high) >> 1
      if (holds(middle)) high = middle
      else low = middle + 1
    }
    return low
  }
  return {
    base,
    front,
    seen: count > heads ? larger(front, sizes(count - 1)) : front,
    last: count > heads ? time(count - 1) : 0,
    lookUp(stream, position) {
      const found = first((entry) => size(entry, stream) > position)
      return found < count ? { time: time(found), until: size(found, stream) } : null
    },
    before(moment) {
      const found = first((entry) => time(entry) >= moment)
      return found > heads ? larger(front, sizes(found - 1)) : front
    },
    newest(kept, now) {
      const goal = Math.max(front.out + front.err, now.out + now.err - kept)
      const found = first((entry) => size(entry, 'stdout') + size(entry, 'stderr') >= goal)
      const from = found > heads ? larger(front, sizes(found - 1)) : front
      const to = found < count ? sizes(found) : now
      const total = to.out + to.err - from.out - from.err
      const share = total <= 0 ? 0 : Math.min(1, (goal - from.out - from.err) / total)
      return larger(front, {
        out: from.out + Math.floor((to.out - from.out) * share),
        err: from.err + Math.floor((to.err - from.err) * share),
      })
    },
  }
}

/** How many entries in front say what is gone. */
export function headsOf(bytes: Buffer): number {
  const isHead = (entry: number) => bytes.length >= (entry + 1) * ENTRY && bytes.readUIntBE(entry * ENTRY, 6) === 0
  return bytes.length < ENTRY ? 0 : isHead(1) ? 2 : 1
}

export function larger(a: Sizes, b: Sizes): Sizes {
  return { out: Math.max(a.out, b.out), err: Math.max(a.err, b.err) }
}

/** The same index without entries for what lies in front of `front`. */
export function withFront(bytes: Buffer, base: Sizes, front: Sizes): Buffer {
  const kept: Buffer[] = [encodeEntry(0, base), encodeEntry(0, front)]
  let at = headsOf(bytes) * ENTRY
  const isGone = (entry: Buffer) => entry.readUIntBE(6, 5) <= front.out && entry.readUIntBE(11, 5) <= front.err
  while (at + ENTRY <= bytes.length && isGone(bytes.subarray(at, at + ENTRY))) at += ENTRY
  kept.push(bytes.subarray(at, bytes.length - (bytes.length % ENTRY)))
  return Buffer.concat(kept)
}
