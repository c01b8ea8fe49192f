import { createHash } from 'node:crypto'

/**
 * A hash of what is in a file, the same whether zeros in it are stored or are a hole: blocks of zeros are passed over, and the place of
 * what comes after them is hashed instead.
 */
export interface ContentHash {
  add(bytes: Buffer): void
  /** As if so many zeros came; costs nothing however many they are. */
  addHole(length: number): void
  digest(): Buffer
}

export function contentHash(): ContentHash {
  const hash = createHash('sha256')
  let position = 0
  /** Of the block that the position lies in, while it is not whole. */
  const block = Buffer.alloc(blockBytes)
  let isAfterZeros = true

  const hashRun = (run: Buffer, at: number) => {
    if (run.length === 0) return
    if (isAfterZeros) hash.update(`@${at};`)
    hash.update(run)
    isAfterZeros = false
  }
  /** Whole blocks from a place that is a multiple of their size. */
  const addBlocks = (bytes: Buffer, at: number) => {
    let from = 0
    for (let next = 0; next < bytes.length; next += blockBytes) {
      if (!isZeros(bytes, next)) continue
      hashRun(bytes.subarray(from, next), at + from)
      from = next + blockBytes
      isAfterZeros = true
    }
    hashRun(bytes.subarray(from), at + from)
  }
  const fill = (bytes: Buffer) => {
    const used = position % blockBytes
    bytes.copy(block, used)
    position += bytes.length
    if (used + bytes.length === blockBytes) addBlocks(block, position - blockBytes)
  }

  return {
    add(bytes) {
      let rest = bytes
      if (position % blockBytes !== 0) {
        const missing = blockBytes - (position % blockBytes)
        fill(rest.subarray(0, missing))
        rest = rest.subarray(missing)
      }
      const whole = rest.length - (rest.length % blockBytes)
      if (whole > 0) {
        addBlocks(rest.subarray(0, whole), position)
        position += whole
      }
      if (whole < rest.length) fill(rest.subarray(whole))
    },
    addHole(length) {
      let rest = length
      if (position % blockBytes !== 0) {
        const missing = Math.min(rest, blockBytes - (position % blockBytes))
        fill(zeros.subarray(0, missing))
        rest -= missing
      }
      const whole = rest - (rest % blockBytes)
      if (whole > 0) {
        position += whole
        isAfterZeros = true
      }
      if (whole < rest) fill(zeros.subarray(0, rest - whole))
    },
    digest() {
      const used = position % blockBytes
      if (used > 0 && !block.subarray(0, used).equals(zeros.subarray(0, used)))
        hashRun(block.subarray(0, used), position - used)
      return hash.update(`#${position}`).digest()
    },
  }
}

const blockBytes = 4096
const zeros = Buffer.alloc(blockBytes)

function isZeros(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0 && zeros.compare(bytes, at, at + blockBytes) === 0
}
