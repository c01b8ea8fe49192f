import type { Duplex } from 'node:stream'
import { BrowseError } from './driver.ts'

/** The most that a server may say before something of it was taken: a row, or a batch of them. */
const mostBytes = 64 * 1024 * 1024

/** What a server sends is counted, and a connection over which too much comes is ended: it would all be kept in memory. */
export class ByteGuard {
  #bytes = 0
  #fault: BrowseError | null = null

  watch(stream: Duplex): void {
    stream.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      if (this.#bytes <= mostBytes || this.#fault !== null) return
      this.#fault = new BrowseError(
        'refused',
        'The server answered more than 64 MiB at once. Ask for fewer columns, or for a part of the value.',
      )
      stream.destroy(this.#fault)
    })
  }

  /** What came was taken. */
  taken(): void {
    this.#bytes = 0
  }

  get fault(): BrowseError | null {
    return this.#fault
  }
}
