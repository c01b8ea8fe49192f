import { pack } from 'tar-stream'
import type { ArchiveTar } from './archive.ts'
import { manifestFile, type StoredPart } from './manifest.ts'
import { readRange } from './read-part.ts'

const block = 512
/** The time of a header has eleven octal digits, but the library writes it as a number of 32 bits. */
const lastTime = 0x7fff_ffff
/** Two empty blocks end an archive. */
const end = Buffer.alloc(2 * block)

/** A stretch of the archive. */
interface Piece {
  readonly size: number
  read(from: number, to: number, signal?: AbortSignal): AsyncIterable<Buffer>
}

/**
 * The parts in the order of the manifest, then the manifest: what was not received to its end has none, and is no backup. Every
 * byte follows from the manifest and the stored parts, so ranges fit together at any time.
 */
export async function tarOf(
  folder: string,
  manifest: { readonly createdAt: string; readonly parts: readonly StoredPart[] },
  manifestBytes: Buffer,
): Promise<ArchiveTar> {
  const time = new Date(Math.min(Date.parse(manifest.createdAt), lastTime * 1000))
  const fileOf = async (name: string, content: Piece): Promise<readonly Piece[]> => [
    inMemory(await header(name, content.size, time)),
    content,
    inMemory(Buffer.alloc(-content.size & (block - 1))),
  ]
  const parts = manifest.parts.map((entry) =>
    fileOf(entry.file, {
      size: entry.bytes,
      read: (from, to, signal) => readRange(folder, entry, from, to, signal),
    }),
  )
  const files = await Promise.all([...parts, fileOf(manifestFile, inMemory(manifestBytes))])
  return joined([...files.flat(), inMemory(end)])
}

function joined(pieces: readonly Piece[]): ArchiveTar {
  const size = pieces.reduce((sum, piece) => sum + piece.size, 0)
  return {
    size,
    async *read(from = 0, to = size, signal) {
      if (!(from >= 0 && from <= to && to <= size))
        throw new RangeError(`Not a range of ${size} bytes: ${from} to ${to}`)
      let start = 0
      for (const piece of pieces) {
        const [first, last] = [Math.max(from - start, 0), Math.min(to - start, piece.size)]
        if (first < last) yield* piece.read(first, last, signal)
        start += piece.size
      }
    },
  }
}

function inMemory(bytes: Buffer): Piece {
  return {
    size: bytes.length,
    async *read(from, to) {
      yield bytes.subarray(from, to)
    },
  }
}

/** Exactly one block: names are short, and sizes from 8 GiB on are written in base 256, as GNU tar does. */
export async function header(name: string, size: number, mtime: Date): Promise<Buffer> {
  const archive = pack()
  // The content is never given to it, so ending it here is an error to it.
  archive.entry({ name, size, mtime, mode: 0o600, type: 'file' }).on('error', () => {})
  for await (const block of archive) return block as Buffer
  throw new Error(`No header was made for ${name}.`)
}
