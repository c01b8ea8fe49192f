import { blockBytes, type EntryKind, encodeEntry, isHeader, parseHeader } from '@stackquay/engine-api/tar-blocks'
import { TargetError } from '@stackquay/targets'

/** An entry of an archive while it is read: its content must be read, or is passed over. */
export interface TarEntry {
  readonly type: string
  readonly name: string
  readonly size: number
  readonly header: Buffer
  content(): AsyncGenerator<Buffer>
}

/** Bytes of a stream, as many as are asked for. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)
  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Null at the end. */
  async some(most: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) {
      const next = await this.#source.next()
      if (next.done === true) return null
      this.#rest = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
    }
    const part = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  async exactly(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let left = count; left > 0; ) {
      const part = await this.some(left)
      if (part === null) throw new TargetError('damaged', 'An archive ends too early.')
      parts.push(part)
      left -= part.length
    }
    return Buffer.concat(parts)
  }

  async close(): Promise<void> {
    await this.#source.return?.()
  }
}

/** Entry after entry, until the archive ends. Reads the stream to its own end, so that its errors are not missed. */
export async function* tarEntries(archive: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const bytes = new Bytes(archive)
  try {
    for (;;) {
      const header = await bytes.exactly(blockBytes)
      if (!isHeader(header)) {
        if (header.some((byte) => byte !== 0)) throw new TargetError('damaged', 'An archive is damaged.')
        while ((await bytes.some(1 << 16)) !== null) {}
        return
      }
      const found = parseHeader(header)
      if (found === null) throw new TargetError('damaged', 'An archive is damaged.')
      let left = found.size
      const content = async function* () {
        while (left > 0) {
          const part = await bytes.some(left)
          if (part === null) throw new TargetError('damaged', 'An archive ends too early.')
          left -= part.length
          yield part
        }
      }
      yield { ...found, header, content }
      for await (const _ of content()) {
      }
      await bytes.exactly(paddingOf(found.size))
    }
  } finally {
    await bytes.close()
  }
}

export function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes
}

/**
 * Of an archive that was checked (`checkedArchive`), what lies below a folder, named from there. Links that lead out of it are left out. Files
 * with holes are known only in the form that one header holds.
 */
export async function* below(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  leftOut: (path: string) => void,
): AsyncGenerator<Buffer> {
  const prefix = folder === '' ? './' : `./${Buffer.from(folder, 'utf8').toString('latin1')}/`
  let long: string | null = null
  let longLink: string | null = null
  let found = false
  for await (const entry of tarEntries(archive)) {
    if (entry.type === 'L' || entry.type === 'K') {
      const text = (await all(entry)).toString('latin1').replace(/\0+$/, '')
      if (entry.type === 'L') long = text
      else longLink = text
      continue
    }
    const name: string = long ?? entry.name
    const parsed = parseHeader(entry.header)!
    const link: string = longLink ?? parsed.link
    long = null
    longLink = null
    if (!name.startsWith(prefix)) continue
    found = true
    const kind = kinds[entry.type]
    if (kind === undefined || (kind === 'sparse' && entry.header[482] !== 0))
      throw new TargetError('damaged', `${JSON.stringify(name)} is of a kind that cannot be pulled.`)
    const path = name.slice(prefix.length)
    if (kind === 'link' && !staysInside(path, link)) {
      leftOut(path)
      continue
    }
    const renamed = { ...parsed, name: `./${path}`, kind, sparse: kind === 'sparse' ? entry.header : null }
    const target = kind === 'hard link' && link.startsWith(prefix) ? `./${link.slice(prefix.length)}` : link
    yield encodeEntry({ ...renamed, link: target })
    yield* entry.content()
    yield Buffer.alloc(paddingOf(entry.size))
  }
  if (!found) throw new TargetError('missing', `The backup has no folder ${folder}.`)
  yield Buffer.alloc(2 * blockBytes)
}

/**
 * Whether a symbolic link leads to something below the folder, whatever other such links there are: it may go up first, not further than
 * the folder, and then only down.
 */
export function staysInside(path: string, target: string): boolean {
  if (target.startsWith('/')) return false
  const names = target.split('/').filter((name) => name !== '' && name !== '.')
  const ups = names.findIndex((name) => name !== '..')
  const up = ups === -1 ? names.length : ups
  return !names.slice(up).includes('..') && up <= path.split('/').length - 1
}

const kinds: Readonly<Record<string, EntryKind>> = {
  0: 'file',
  '\0': 'file',
  1: 'hard link',
  2: 'link',
  5: 'directory',
  S: 'sparse',
}

const mostName = 64 << 10

async function all(entry: TarEntry): Promise<Buffer> {
  if (entry.size > mostName) throw new TargetError('damaged', 'An archive has a name that is longer than any path.')
  const parts: Buffer[] = []
  for await (const part of entry.content()) parts.push(part)
  return Buffer.concat(parts)
}
