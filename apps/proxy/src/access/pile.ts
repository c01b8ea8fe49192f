/**
 * Text that gathers as bytes, in one piece of memory that grows. Strings put together piece by piece are objects for each
 * piece, which the collector moves about for as long as they wait to be written.
 */
export class Pile {
  #bytes = Buffer.allocUnsafeSlow(firstBytes)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** What is there; more may be added, and does not show in it. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Answers how many bytes it was. */
  add(text: string): number {
    // Of UTF-8 it is at most three bytes for each unit of a string.
    const most = this.#length + text.length * 3
    if (most > this.#bytes.length) this.#grow(most)
    const written = this.#bytes.write(text, this.#length)
    this.#length += written
    return written
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(least, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

const firstBytes = 2 * 1024
