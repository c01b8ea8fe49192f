import { headerBytes, numberAt, textAt } from './tar-entries.ts'

/** What was given is no whole archive. */
export class BrokenArchiveError extends Error {
  override readonly name = 'BrokenArchiveError'
  readonly code = brokenArchive
}

export const brokenArchive = 'broken_archive'

/** An archive that passes by, piece by piece. */
export interface Prefixer {
  /** What goes on; parts of it are those of the piece. */
  push(piece: Buffer): readonly Buffer[]
  /** The rest. Throws where the archive broke off. */
  end(): readonly Buffer[]
}

/**
 * The same archive with all of it in a folder, which is an entry of its own: what a `BackupProgram` with a prefix wrote, as the
 * tar of the whole kept data. Only the owner may enter the folder, who is that of the first entry. Owners, modes, times and links
 * stay as they are; targets of hard links are in the archive, and move with it. Memory is flat.
 */
export async function* withPrefix(archive: AsyncIterable<Uint8Array>, prefix: string): AsyncGenerator<Buffer> {
  const prefixer = createPrefixer(prefix)
  for await (const chunk of archive) {
    const out = prefixer.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    if (out.length > 0) yield out.length === 1 ? out[0]! : Buffer.concat(out)
  }
  yield Buffer.concat(prefixer.end())
}

/** What extended headers said of the entry that follows. Names are bytes, one character each. */
interface Said {
  name?: string
  link?: string
  size?: number
  /** What they say beside that. */
  records: Buffer
}

const nothing: Said = { records: Buffer.alloc(0) }

/** Of names and extended headers; the longest path of Linux has 4096 bytes. */
const mostExtension = 64 << 10

export function createPrefixer(prefix: string): Prefixer {
  const place = Buffer.from(prefix).toString('latin1')
  let rest = Buffer.alloc(0)
  let isFirst = true
  let isEnded = false
  let said: Said = nothing
  /** Bytes of content that go on as they are. */
  let left = 0
  let out: Buffer[] = []

  const begin = (header: Buffer) => {
    if (isFirst) for (const name of ['./', `${place}/`]) out.push(folderOf(header, name))
    isFirst = false
  }
  /** Answers how many bytes were used; 0: more are needed. */
  const take = (bytes: Buffer): number => {
    if (isEnded) return bytes.length
    if (left > 0) {
      const passing = bytes.subarray(0, left)
      out.push(passing)
      left -= passing.length
      return passing.length
    }
    if (bytes.length < headerBytes) return 0
    const header = bytes.subarray(0, headerBytes)
    if (header.every((byte) => byte === 0)) {
      isEnded = true
      return headerBytes
    }
    const type = typeOf(header)
    const size = said.size ?? numberAt(header, 124, 12)
    if ('LKx'.includes(type)) {
      if (size > mostExtension) throw new BrokenArchiveError('The archive has a header that is too large.')
      if (bytes.length < headerBytes + padded(size)) return 0
      said = { ...said, ...extensionOf(type, bytes.subarray(headerBytes, headerBytes + size)) }
      return headerBytes + padded(size)
    }
    if (type === 'g') throw new BrokenArchiveError('The archive has a header for all that follows.')
    begin(header)
    out.push(...entryOf(header, said, place))
    said = nothing
    left = padded(size)
    return headerBytes
  }
  const taken = () => {
    const now = out
    out = []
    return now
  }
  return {
    push: (piece) => {
      let bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      while (bytes.length > 0) {
        const used = take(bytes)
        if (used === 0) break
        bytes = bytes.subarray(used)
      }
      rest = Buffer.from(bytes)
      return taken()
    },
    end: () => {
      if (!isEnded && !(isFirst && rest.length === 0))
        throw new BrokenArchiveError('Unexpected end of data of the archive.')
      if (isFirst) begin(Buffer.alloc(headerBytes))
      return [...taken(), Buffer.alloc(2 * headerBytes)]
    },
  }
}

function typeOf(header: Buffer): string {
  let sum = 8 * 0x20
  for (let at = 0; at < headerBytes; at += 1) if (at < 148 || at >= 156) sum += header[at]!
  if (sum !== numberAt(header, 148, 8)) throw new BrokenArchiveError('The archive has a damaged header.')
  return String.fromCharCode(header[156]!)
}

function padded(size: number): number {
  return Math.ceil(size / headerBytes) * headerBytes
}

function extensionOf(type: string, content: Buffer): Partial<Said> {
  const text = () => textAt(content, 0, content.length)
  if (type === 'L') return { name: text() }
  if (type === 'K') return { link: text() }
  const found: { name?: string; link?: string; size?: number } = {}
  const others: Buffer[] = []
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at)
    const length = Number(content.toString('latin1', at, space))
    if (space === -1 || !(length > 0) || at + length > content.length)
      throw new BrokenArchiveError('The archive has a damaged header.')
    const record = content.subarray(at, at + length)
    const [, key = '', value = ''] = /^\d+ ([^=]*)=([\s\S]*)\n$/.exec(record.toString('latin1')) ?? []
    if (key === 'path') found.name = value
    else if (key === 'linkpath') found.link = value
    else others.push(record)
    if (key === 'size') found.size = Number(value)
    at += length
  }
  return { ...found, records: Buffer.concat(others) }
}

/** Its header with the new names; in front of it what they need that is longer than its fields. */
function entryOf(header: Buffer, said: Said, place: string): readonly Buffer[] {
  const type = String.fromCharCode(header[156]!)
  const isPosix = header.toString('latin1', 257, 263) === 'ustar\0'
  const above = isPosix ? textAt(header, 345, 155) : ''
  const own = textAt(header, 0, 100)
  const name = `${place}/${said.name ?? (above === '' ? own : `${above}/${own}`)}`
  const target = said.link ?? textAt(header, 157, 100)
  const link = type === '1' ? `${place}/${target}` : target
  const moved = Buffer.from(header)
  moved.fill(0, 0, 100).write(name.slice(0, 100), 0, 'latin1')
  moved.fill(0, 157, 257).write(link.slice(0, 100), 157, 'latin1')
  if (isPosix) moved.fill(0, 345, 500)
  return [
    ...(said.records.length === 0 ? [] : extension('x', said.records)),
    ...(link.length > 100 ? extension('K', Buffer.from(`${link}\0`, 'latin1')) : []),
    ...(name.length > 100 ? extension('L', Buffer.from(`${name}\0`, 'latin1')) : []),
    sealed(moved),
  ]
}

function extension(type: string, content: Buffer): readonly Buffer[] {
  const header = blank(type === 'x' ? 'PaxHeader' : '././@LongLink', type, 0o644)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1')
  return [sealed(header), content, Buffer.alloc(padded(content.length) - content.length)]
}

/** Owned as what the header is of. */
function folderOf(header: Buffer, name: string): Buffer {
  const folder = blank(name, '5', 0o700)
  if (header[0] !== 0) header.copy(folder, 108, 108, 124)
  return sealed(folder)
}

function blank(name: string, type: string, mode: number): Buffer {
  const header = Buffer.alloc(headerBytes)
  header.write(name, 0, 100, 'latin1')
  header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100, 'latin1')
  for (const at of [108, 116]) header.write('0000000\0', at, 'latin1')
  for (const at of [124, 136]) header.write('00000000000\0', at, 'latin1')
  header.write(type, 156, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  return header
}

function sealed(header: Buffer): Buffer {
  header.fill(0x20, 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}
