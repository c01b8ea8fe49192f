/** How each chunk begins and ends, and what stands between two items. */
export interface ChunkShape {
  readonly start: string
  readonly between: string
  readonly end: string
}

const chunkSize = 64 * 1024

/** Items one behind the other, in pieces of about 64 KB; a longer item has a piece of its own. */
export class ChunkWriter {
  /** Items are written here, from `size` on. */
  bytes: Buffer = nothing
  size = 0
  readonly #memory: ChunkMemory | null
  readonly #start: Buffer
  readonly #between: number
  readonly #end: Buffer
  #chunks: Buffer[] = []

  constructor({ start, between, end }: ChunkShape, memory: ChunkMemory | null = null) {
    this.#memory = memory
    this.#start = Buffer.from(start)
    this.#between = between.charCodeAt(0)
    this.#end = Buffer.from(end)
  }

  /** To be called in front of each item, which is at most so long. */
  begin(most: number): void {
    if (this.size > 0 && this.size + 1 + most + this.#end.length > this.bytes.length) this.#close()
    if (this.size > 0) this.bytes[this.size++] = this.#between
    else {
      const least = this.#start.length + most + this.#end.length
      this.bytes =
        least <= chunkSize && this.#memory !== null
          ? this.#memory.take()
          : Buffer.allocUnsafeSlow(Math.max(chunkSize, least))
      this.bytes.set(this.#start)
      this.size = this.#start.length
    }
  }

  addItem(text: string): void {
    const item = Buffer.from(text)
    this.begin(item.length)
    this.bytes.set(item, this.size)
    this.size += item.length
  }

  /** What was written, chunk by chunk. Whoever goes on writing begins anew. */
  take(): readonly Buffer[] {
    if (this.size > 0) this.#close()
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  #close(): void {
    this.bytes.set(this.#end, this.size)
    const chunk = this.bytes.subarray(0, this.size + this.#end.length)
    // Whoever keeps a short chunk is not to keep 64 KB for it.
    if (2 * chunk.length < this.bytes.length) {
      this.#chunks.push(Buffer.from(chunk))
      this.#memory?.giveBack(chunk)
    } else this.#chunks.push(chunk)
    this.bytes = nothing
    this.size = 0
  }
}

const nothing = Buffer.alloc(0)

/**
 * Memory of chunks that were sent, for the next ones. JavaScript collects its whole heap for some ten megabytes outside of it:
 * with new memory for each chunk, making the frames of a long log took a quarter longer.
 */
export interface ChunkMemory {
  take(): Buffer
  /** Nobody reads this chunk any more. Of what was not taken here nothing is kept. */
  giveBack(chunk: Buffer): void
}

export function createChunkMemory(): ChunkMemory {
  const taken = new WeakSet<ArrayBufferLike>()
  const spare: Buffer[] = []
  return {
    take: () => {
      const bytes = spare.pop() ?? Buffer.allocUnsafeSlow(chunkSize)
      taken.add(bytes.buffer)
      return bytes
    },
    giveBack: ({ buffer }) => {
      if (taken.delete(buffer) && spare.length < mostSpare) spare.push(Buffer.from(buffer))
    },
  }
}

/** 2 MB. */
const mostSpare = 32
