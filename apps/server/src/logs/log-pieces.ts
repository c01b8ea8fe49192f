/** How each piece begins and ends, and what stands between two items. */
export interface PieceShape {
  readonly start: string
  readonly between: string
  readonly end: string
}

const pieceSize = 64 * 1024

/** Items one behind the other, in pieces of about 64 KB; a longer item has a piece of its own. */
export class PieceWriter {
  /** Items are written here, from `size` on. */
  bytes: Buffer = nothing
  size = 0
  readonly #start: Buffer
  readonly #between: number
  readonly #end: Buffer
  #pieces: Buffer[] = []

  constructor({ start, between, end }: PieceShape) {
    this.#start = Buffer.from(start)
    this.#between = between.charCodeAt(0)
    this.#end = Buffer.from(end)
  }

  /** To be called in front of each item, which is at most so long. */
  begin(most: number): void {
    if (this.size > 0 && this.size + 1 + most + this.#end.length > this.bytes.length) this.#close()
    if (this.size > 0) this.bytes[this.size++] = this.#between
    else {
      this.bytes = Buffer.allocUnsafeSlow(Math.max(pieceSize, this.#start.length + most + this.#end.length))
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

  /** What was written, piece by piece. Whoever goes on writing begins anew. */
  take(): readonly Buffer[] {
    if (this.size > 0) this.#close()
    const pieces = this.#pieces
    this.#pieces = []
    return pieces
  }

  #close(): void {
    this.bytes.set(this.#end, this.size)
    const piece = this.bytes.subarray(0, this.size + this.#end.length)
    // Whoever keeps a short piece is not to keep 64 KB for it.
    this.#pieces.push(2 * piece.length < this.bytes.length ? Buffer.from(piece) : piece)
    this.bytes = nothing
    this.size = 0
  }
}

const nothing = Buffer.alloc(0)
