/*
 * A large chunk of an answer is copied before the next read overwrites it. The memory it is copied into is used again when
 * the chunk has left: memory that is new each time costs the kernel as much as the copying itself.
 */

const chunkBytes = 256 * 1024
/** More than this many are rarely needed at once; the collector takes the rest. */
const mostKept = 32
const free: Buffer[] = []

export interface Copy {
  readonly bytes: Buffer
  /** When the bytes have left, or never will. */
  readonly done: () => void
}

const nothing = () => {}

/** Node writes so much of a string from the stack, without memory of its own (16 KB, with a head). */
export const asString = 12 * 1024

export function copyOf(bytes: Buffer, start: number, end: number): Copy {
  const size = end - start
  if (size < chunkBytes / 4 || size > chunkBytes) {
    const copy = Buffer.allocUnsafe(size)
    bytes.copy(copy, 0, start, end)
    return { bytes: copy, done: nothing }
  }
  const memory = free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes)
  bytes.copy(memory, 0, start, end)
  let isDone = false
  return {
    bytes: size === chunkBytes ? memory : memory.subarray(0, size),
    done: () => {
      if (isDone) return
      isDone = true
      if (free.length < mostKept) free.push(memory)
    },
  }
}
