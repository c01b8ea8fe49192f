import { createHash } from 'node:crypto'
import { type ContentHash, contentHash } from './content-hash.ts'
import { freeChunks } from './free-chunks.ts'
import { entryOf, headerBytes, morePieces, type Piece, type TarEntry } from './tar-entries.ts'

/** What there is in a folder; the same is found in an archive while it is made and in what is unpacked of it. */
export interface TreeContents {
  readonly files: number
  readonly folders: number
  readonly links: number
  /** Of all files, holes included. Those of SQLite databases are left out: each copy of one is written anew. */
  readonly bytes: number
  /** Of names, modes, targets of links and contents, in whatever order they come. */
  readonly checksum: string
}

/** Looks at an archive that passes by. Its top folder is no entry of it. */
export function treeContents() {
  const counts = { files: 0, folders: 0, links: 0, bytes: 0 }
  let sum = 0n
  const addToSum = (digest: Buffer) => {
    sum = BigInt.asUintN(128, sum + digest.readBigUInt64BE(0) * 2n ** 64n + digest.readBigUInt64BE(8))
  }
  const end = ({ entry, content, text }: Body) => {
    if (content === null || text === databaseMagic) return
    counts.bytes += entry.fileSize
    addToSum(content.digest())
  }
  const note = (entry: TarEntry) => {
    const { type, name } = entry
    if (type === '5' && (name === './' || name === '.')) return
    if (type === '5') counts.folders += 1
    else if (type === '2') counts.links += 1
    else if (fileTypes.includes(type)) counts.files += 1
    else return
    const kind = fileTypes.includes(type) ? 'file' : type
    // Which of two hard links has the content depends on the order of a folder.
    addToSum(hashOf([kind, name, (entry.mode & 0o777).toString(8), type === '2' ? entry.link : '']))
  }
  const look = createReader(note, end)
  return {
    /** The next bytes of it. They may change afterwards. */
    look,
    async *of(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of archive) {
        look(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
        freeChunks(chunk.byteLength)
        yield chunk
      }
    },
    found: (): TreeContents & Record<string, number | string> => ({
      ...counts,
      checksum: sum.toString(16).padStart(32, '0'),
    }),
  }
}

/** Also a second hard link to one. */
const fileTypes = '01S7\0'

function hashOf(words: readonly string[]): Buffer {
  return createHash('sha256').update(words.join('\0'), 'latin1').digest()
}

/** An entry while its stored bytes pass by. */
interface Body {
  readonly entry: TarEntry
  /** Null where what is stored is not the content of a file. */
  readonly content: ContentHash | null
  /** Those of a file with holes that are not begun, and whether a block with more of them follows. */
  readonly pieces: Piece[]
  goesOn: boolean
  /** Stored bytes that are not seen, and those that fill the last block. */
  left: number
  padding: number
  /** In the file. */
  position: number
  /** How it begins: a name that is too long for a header, or what tells a database. */
  text: string
}

function createReader(note: (entry: TarEntry) => void, end: (body: Body) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let body: Body | null = null
  let names: { name?: string; link?: string } = {}

  const begin = (header: Buffer): Body | null => {
    const plain = entryOf(header)
    if (plain === null) return null
    if (plain.type === 'L' || plain.type === 'K') return bodyOf(plain)
    const entry = { ...plain, ...names }
    names = {}
    note(entry)
    return bodyOf(entry)
  }
  const settle = (done: Body): null => {
    const { entry, content, position, text } = done
    if (entry.type === 'S') content?.addHole(entry.fileSize - position)
    if (entry.type === 'L') names = { ...names, name: withoutEnd(text) }
    if (entry.type === 'K') names = { ...names, link: withoutEnd(text) }
    end(done)
    return null
  }
  return (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      if (body === null || body.goesOn) {
        if (bytes.length < headerBytes) break
        const block = bytes.subarray(0, headerBytes)
        bytes = bytes.subarray(headerBytes)
        if (body === null) body = begin(block)
        else addPieces(body, block)
      } else {
        bytes = bytes.subarray(pass(body, bytes))
        if (body.left + body.padding > 0) break
        body = settle(body)
      }
    }
    rest = Buffer.from(bytes)
  }
}

function bodyOf(entry: TarEntry): Body {
  const { size, pieces, goesOn } = entry
  const isContent = fileTypes.includes(entry.type) && entry.type !== '1'
  return {
    entry,
    content: isContent ? contentHash() : null,
    pieces: [...pieces],
    goesOn,
    left: size,
    padding: (headerBytes - (size % headerBytes)) % headerBytes,
    position: 0,
    text: '',
  }
}

function addPieces(body: Body, block: Buffer): void {
  const more = morePieces(block)
  body.pieces.push(...more.pieces)
  body.goesOn = more.goesOn
}

/** How many of the bytes belong to the body. */
function pass(body: Body, bytes: Buffer): number {
  const stored = Math.min(body.left, bytes.length)
  if (stored > 0) take(body, bytes.subarray(0, stored))
  body.left -= stored
  const filling = body.left === 0 ? Math.min(body.padding, bytes.length - stored) : 0
  body.padding -= filling
  return stored + filling
}

/** Stored bytes, put where they belong in the file. */
function take(body: Body, bytes: Buffer): void {
  const { content, pieces } = body
  const longest = content === null ? longestName : databaseMagic.length
  if (body.text.length < longest) body.text += bytes.toString('latin1', 0, longest - body.text.length)
  if (content === null) return
  if (body.entry.type !== 'S') {
    content.add(bytes)
    return
  }
  let rest = bytes
  while (rest.length > 0) {
    const piece = pieces.shift() ?? { offset: body.position, length: rest.length }
    content.addHole(piece.offset - body.position)
    const now = rest.subarray(0, piece.length)
    content.add(now)
    body.position = piece.offset + now.length
    if (now.length < piece.length) pieces.unshift({ offset: body.position, length: piece.length - now.length })
    rest = rest.subarray(now.length)
  }
}

const longestName = 1 << 16
const databaseMagic = 'SQLite format 3\0'

function withoutEnd(text: string): string {
  const end = text.indexOf('\0')
  return end === -1 ? text : text.slice(0, end)
}
