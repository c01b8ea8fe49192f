/*
 * Blocks of tar archives: ustar (POSIX 1003.1, pax), with GNU's long names and sparse files. Names are bytes, kept as latin1.
 * https://www.gnu.org/software/tar/manual/html_node/Standard.html
 */

export const blockBytes = 512

export type EntryKind = 'file' | 'sparse' | 'directory' | 'link' | 'hard link' | 'pipe'

export interface ArchiveEntry {
  readonly type: string
  readonly name: string
  readonly link: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Of what follows it in the archive. */
  readonly size: number
  /** Time of change, as it stands in the header. */
  readonly modified: Buffer
}

/** Whether the checksum of a block is right. A block of zeros has none. */
export function isHeader(block: Buffer): boolean {
  let sum = 8 * 0x20
  for (let at = 0; at < blockBytes; at += 1) if (at < 148 || at >= 156) sum += block[at]!
  return numberAt(block, 148, 8) === sum
}

/** Null when a number in it is none. */
export function parseHeader(block: Buffer): ArchiveEntry | null {
  const [mode, uid, gid, size] = [
    numberAt(block, 100, 8),
    numberAt(block, 108, 8),
    numberAt(block, 116, 8),
    numberAt(block, 124, 12),
  ]
  if (mode === null || uid === null || gid === null || size === null) return null
  // GNU's own form, which ends its magic with a space, uses the place of the prefix for something else.
  const hasPrefix = block.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = hasPrefix ? textAt(block, 345, 155) : ''
  const name = textAt(block, 0, 100)
  return {
    type: String.fromCharCode(block[156]!),
    name: prefix === '' ? name : `${prefix}/${name}`,
    link: textAt(block, 157, 100),
    mode,
    uid,
    gid,
    size,
    modified: Buffer.from(block.subarray(136, 148)),
  }
}

/** The header of an entry, with what its long names need in front. `sparse` is the header that the map of its parts is taken from. */
export function encodeEntry(
  entry: Omit<ArchiveEntry, 'type'> & {
    readonly kind: EntryKind
    readonly sparse: Buffer | null
  },
): Buffer {
  const parts = [...longText('L', entry.name), ...longText('K', entry.link)]
  const block = Buffer.alloc(blockBytes)
  block.write(entry.name.slice(0, 100), 0, 'latin1')
  block.write(entry.link.slice(0, 100), 157, 'latin1')
  putNumber(block, 100, 8, entry.mode)
  putNumber(block, 108, 8, entry.uid)
  putNumber(block, 116, 8, entry.gid)
  putNumber(block, 124, 12, entry.size)
  entry.modified.copy(block, 136, 0, 12)
  block.write(typeOf[entry.kind], 156, 'latin1')
  block.write('ustar  \0', 257, 'latin1')
  entry.sparse?.copy(block, 386, 386, 495)
  putChecksum(block)
  return parts.length === 0 ? block : Buffer.concat([...parts, block])
}

const typeOf: Readonly<Record<EntryKind, string>> = {
  file: '0',
  sparse: 'S',
  directory: '5',
  link: '2',
  'hard link': '1',
  pipe: '6',
}

/** GNU's way: an entry whose content is the name of the next one. */
function longText(type: 'L' | 'K', text: string): readonly Buffer[] {
  if (text.length <= 100) return []
  const block = Buffer.alloc(blockBytes)
  block.write('././@LongLink', 0, 'latin1')
  putNumber(block, 100, 8, 0)
  putNumber(block, 108, 8, 0)
  putNumber(block, 116, 8, 0)
  putNumber(block, 124, 12, text.length + 1)
  putNumber(block, 136, 12, 0)
  block.write(type, 156, 'latin1')
  block.write('ustar  \0', 257, 'latin1')
  putChecksum(block)
  const content = Buffer.alloc(Math.ceil((text.length + 1) / blockBytes) * blockBytes)
  content.write(text, 0, 'latin1')
  return [block, content]
}

export function longTextOf(bytes: Buffer): string {
  return textAt(bytes, 0, bytes.length)
}

/** Lines `<length> <key>=<value>\n`; null when they are damaged. */
export function paxRecordsOf(bytes: Buffer): Record<string, string> | null {
  const records: Record<string, string> = Object.create(null) as Record<string, string>
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at)
    const digits = space === -1 || space - at > 7 ? '' : bytes.toString('latin1', at, space)
    const end = /^\d+$/.test(digits) ? at + Number(digits) : -1
    if (end <= space + 1 || end > bytes.length || bytes[end - 1] !== 0x0a) return null
    const record = bytes.toString('latin1', space + 1, end - 1)
    const equals = record.indexOf('=')
    if (equals < 1) return null
    records[record.slice(0, equals)] = record.slice(equals + 1)
    at = end
  }
  return records
}

export function textOf(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

function textAt(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('latin1', 0, end === -1 ? field.length : end)
}

/** Octal digits, or GNU's binary form for what has no room; null when it is neither, or no safe integer. */
function numberAt(block: Buffer, at: number, length: number): number | null {
  const first = block[at]!
  if (first === 0x80) {
    const value = BigInt(`0x${block.toString('hex', at + 1, at + length)}`)
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null
  }
  const text = textAt(block, at, length).trim()
  return text === '' ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : null
}

function putNumber(block: Buffer, at: number, length: number, value: number): void {
  const digits = value.toString(8)
  if (digits.length < length) {
    block.write(`${digits.padStart(length - 1, '0')}\0`, at, 'latin1')
    return
  }
  block[at] = 0x80
  block.write(value.toString(16).padStart((length - 1) * 2, '0'), at + 1, 'hex')
}

function putChecksum(block: Buffer): void {
  block.fill(0x20, 148, 156)
  let sum = 0
  for (const byte of block) sum += byte
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
}
