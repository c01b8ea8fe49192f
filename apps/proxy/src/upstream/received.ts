/**
 * All connections to projects read into this one block of memory: what is kept of it is copied, and that is little. As much as one
 * read takes at most: with 64 KB, an answer of 1 MB costs a third more.
 */
export const received = Buffer.allocUnsafeSlow(256 * 1024)

/** The bytes of the last read, up to the next one. */
export function lastRead(size: number): Buffer {
  return size === received.length ? received : received.subarray(0, size)
}
