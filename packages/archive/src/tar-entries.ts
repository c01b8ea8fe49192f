/** What the header of an entry says, in the format of GNU tar. Names are bytes, one character each. */
export interface TarEntry {
  /** `S` is a file with holes; `L` and `K` hold a name that is too long for the header after them. */
  readonly type: string
  readonly name: string
  readonly link: string
  readonly mode: number
  /** Of what is stored. */
  readonly size: number
  /** Of the file, with its holes. */
  readonly fileSize: number
  /** Where the stored bytes of a file with holes belong. */
  readonly pieces: readonly Piece[]
  /** Whether a block with more pieces follows. */
  readonly goesOn: boolean
}

export interface Piece {
  readonly offset: number
  readonly length: number
}

export const headerBytes = 512

/** Null: the blocks of zeros at the end. */
export function entryOf(header: Buffer): TarEntry | null {
  if (header[0] === 0) return null
  const type = String.fromCharCode(header[156]!)
  const size = numberAt(header, 124, 12)
  const isSparse = type === 'S'
  return {
    type,
    name: textAt(header, 0, 100),
    link: textAt(header, 157, 100),
    mode: numberAt(header, 100, 8),
    size,
    fileSize: isSparse ? numberAt(header, 483, 12) : size,
    pieces: isSparse ? piecesAt(header, 386, 4) : [],
    goesOn: isSparse && header[482] === 1,
  }
}

/** A further block with pieces of a file with holes. */
export function morePieces(block: Buffer): Pick<TarEntry, 'pieces' | 'goesOn'> {
  return { pieces: piecesAt(block, 0, 21), goesOn: block[504] === 1 }
}

function piecesAt(block: Buffer, at: number, count: number): readonly Piece[] {
  return Array.from({ length: count }, (_, index) => ({
    offset: numberAt(block, at + index * 24, 12),
    length: numberAt(block, at + index * 24 + 12, 12),
  })).filter(({ length }) => length > 0)
}

export function textAt(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('latin1', 0, end === -1 ? length : end)
}

/** Octal, or for large files in base 256. */
export function numberAt(block: Buffer, at: number, length: number): number {
  if ((block[at]! & 0x80) !== 0) return Number(block.readBigUInt64BE(at + length - 8))
  return Number.parseInt(textAt(block, at, length).trim() || '0', 8)
}
