/** One entry of an archive as Docker sends them. */
export interface TarEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'other'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Its content, which may be left unread. */
  readonly body: AsyncIterable<Buffer>
}

const BLOCK = 512

/**
 * The entries of an archive, one after the other (POSIX.1-1988 "ustar" with the extensions of POSIX.1-2001, whose records
 * are passed over: they hold what is not asked for here). The source is ended when the caller stops.
 */
export async function* tarEntries(source: AsyncIterable<Buffer | string>): AsyncGenerator<TarEntry> {
  const bytes = byteReader(source)
  try {
    for (;;) {
      const header = await bytes.exactly(BLOCK)
      if (header === null || header.every((byte) => byte === 0)) return
      const size = number(header, 124, 12)
      const type = String.fromCharCode(header[156] ?? 0)
      let left = size
      const body = async function* () {
        while (left > 0) {
          const piece = await bytes.some(left)
          if (piece === null) throw new Error('The archive ended within a file.')
          left -= piece.length
          yield piece
        }
      }
      if (type !== 'x' && type !== 'g' && type !== 'L' && type !== 'K') {
        yield {
          name: text(header, 0, 100),
          kind: type === '5' ? 'directory' : type === '0' || type === '\0' ? 'file' : 'other',
          mode: number(header, 100, 8) & 0o7777,
          uid: number(header, 108, 8),
          gid: number(header, 116, 8),
          size,
          body: body(),
        }
      }
      for await (const _ of body());
      await bytes.exactly((BLOCK - (size % BLOCK)) % BLOCK)
    }
  } finally {
    await bytes.end()
  }
}

/** An archive of one directory, for giving it an owner. */
export function directoryArchive(name: string, owner: { mode: number; uid: number; gid: number }): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  header.write(`${name}/`, 0, 100, 'utf8')
  octal(owner.mode, 100, 8)
  octal(owner.uid, 108, 8)
  octal(owner.gid, 116, 8)
  octal(0, 124, 12)
  octal(0, 136, 12)
  header.write('        5', 148, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return Buffer.concat([header, Buffer.alloc(2 * BLOCK)])
}

function text(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

/** Octal digits, or bytes when the first bit is set. */
function number(header: Buffer, at: number, length: number): number {
  if (((header[at] ?? 0) & 0x80) === 0) return Number.parseInt(text(header, at, length).trim() || '0', 8)
  return header.subarray(at + 1, at + length).reduce((value, byte) => value * 256 + byte, 0)
}

function byteReader(source: AsyncIterable<Buffer | string>) {
  const iterator = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const fill = async (): Promise<boolean> => {
    const next = await iterator.next()
    if (next.done === true) return false
    held = Buffer.concat([held, Buffer.from(next.value)])
    return true
  }
  return {
    /** Null at the end. */
    async exactly(count: number): Promise<Buffer | null> {
      while (held.length < count) if (!(await fill())) return null
      const taken = held.subarray(0, count)
      held = held.subarray(count)
      return taken
    },
    /** At most so many. */
    async some(most: number): Promise<Buffer | null> {
      while (held.length === 0) if (!(await fill())) return null
      const taken = held.subarray(0, most)
      held = held.subarray(taken.length)
      return taken
    },
    end: async () => void (await iterator.return?.()),
  }
}
