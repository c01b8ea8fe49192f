import {
  checkedEntry,
  directoryEntry,
  extensionOf,
  invalid,
  overridden,
  placeOf,
  type ReadExtension,
} from './archive-rules.ts'
import { type ArchiveEntry, blockBytes, type EntryKind, encodeEntry, isHeader, parseHeader } from './tar-blocks.ts'

export interface ArchiveRules {
  /**
   * Puts a directory in front of every entry whose own did not come before: what unpacks it then replaces a symbolic link in that
   * place, instead of writing through it. For programs that leave a directory which is there as it is.
   */
  readonly parents?: boolean
  /** Is told of the folder itself, where the archive has an entry for it. */
  readonly top?: (owner: { readonly mode: number; readonly uid: number; readonly gid: number }) => void
}

/**
 * The same archive, entry by entry with headers of our own, so that nobody can read it in another way than it was checked here. What holds
 * for every entry: its name is relative, without `..`; so is the target of a hard link. Bits that give rights (setuid, setgid of
 * files) are gone, and pipes are left out. Devices, unknown types, wrong checksums, and archives without their end are refused with
 * `invalid_archive`. The source is read to its own end, so that its errors are not missed. Memory does not grow with it.
 */
export async function* checkedArchive(
  archive: AsyncIterable<Uint8Array>,
  rules: ArchiveRules = {},
): AsyncGenerator<Buffer, void> {
  const checker = createChecker(rules)
  for await (const chunk of archive) {
    const out = checker.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    if (out.length === 1) yield out[0]!
    else if (out.length > 1) yield Buffer.concat(out)
  }
  yield checker.end()
}

/** What the next bytes are. `left` counts them. */
type Expected =
  | { readonly what: 'header' }
  | { readonly what: 'content'; left: number; readonly isKept: boolean }
  | { readonly what: 'extension'; left: number; readonly parts: Buffer[]; then(bytes: Buffer): void }
  | { readonly what: 'nothing' }

/** Of names and extended headers; the longest path of Linux has 4096 bytes. */
const mostExtension = 64 << 10

/** How far the archive was read. */
interface Progress {
  readonly rules: ArchiveRules
  expected: Expected
  /** What goes on. */
  out: Buffer[]
  /** What extended headers said of the entry that follows. */
  said: Readonly<Record<string, string>>
  /** Directories that came before, and the one of the last entry, as its names. */
  readonly directories: Set<string>
  /** Symbolic links that came before. */
  readonly links: Set<string>
  inside: readonly string[]
}

function createChecker(rules: ArchiveRules) {
  const progress: Progress = {
    rules,
    expected: { what: 'header' },
    out: [],
    said: {},
    directories: new Set(),
    links: new Set(),
    inside: [],
  }
  let partial: Buffer | null = null
  return {
    push(chunk: Buffer): readonly Buffer[] {
      let bytes = partial === null ? chunk : Buffer.concat([partial, chunk])
      partial = null
      progress.out = []
      while (bytes.length > 0) {
        const used = take(progress, bytes)
        if (used === 0) {
          partial = bytes
          break
        }
        bytes = bytes.subarray(used)
      }
      return progress.out
    },
    end(): Buffer {
      if (progress.expected.what !== 'nothing') throw invalid('it ends too early')
      return Buffer.alloc(2 * blockBytes)
    },
  }
}

/** Takes what it expects from the front, and answers how much that was; 0 where it needs more. */
function take(progress: Progress, bytes: Buffer): number {
  const { expected } = progress
  switch (expected.what) {
    case 'header': {
      if (bytes.length < blockBytes) return 0
      takeHeader(progress, bytes.subarray(0, blockBytes))
      return blockBytes
    }
    case 'content': {
      const part = bytes.subarray(0, expected.left)
      if (expected.isKept) progress.out.push(part)
      expected.left -= part.length
      if (expected.left === 0) progress.expected = { what: 'header' }
      return part.length
    }
    case 'extension': {
      const part = bytes.subarray(0, expected.left)
      expected.parts.push(part)
      expected.left -= part.length
      if (expected.left === 0) expected.then(Buffer.concat(expected.parts))
      return part.length
    }
    case 'nothing':
      if (bytes.some((byte) => byte !== 0)) throw invalid('there is something behind its end')
      return bytes.length
    default:
      return expected satisfies never
  }
}

function takeHeader(progress: Progress, block: Buffer): void {
  if (!isHeader(block)) {
    if (block.some((byte) => byte !== 0)) throw invalid('it is no tar archive, or damaged')
    if (Object.keys(progress.said).length > 0) throw invalid('it ends within an entry')
    progress.expected = { what: 'nothing' }
    return
  }
  const found = parseHeader(block)
  if (found === null) throw invalid('a header has numbers that mean nothing')
  const read = extensionOf(found.type)
  if (read !== null) {
    takeExtension(progress, found.size, read)
    return
  }
  const entry = { ...found, ...overridden(progress.said) }
  progress.said = {}
  takeEntry(progress, entry, block)
}

function takeExtension(progress: Progress, size: number, read: ReadExtension): void {
  if (size > mostExtension) throw invalid('a name in it is longer than any path')
  const then = (bytes: Buffer): void => {
    const records = read(bytes.subarray(0, size))
    if (records === null) throw invalid('an extended header is damaged')
    progress.said = { ...progress.said, ...records }
    progress.expected = { what: 'header' }
  }
  if (size === 0) then(Buffer.alloc(0))
  else progress.expected = { what: 'extension', left: padded(size), parts: [], then }
}

function takeEntry(progress: Progress, entry: ArchiveEntry, block: Buffer): void {
  const { kind, names } = placeOf(entry)
  const isKept = kind !== 'pipe'
  if (isKept) {
    refuseThroughLinks(progress, kind, names)
    if (progress.rules.parents === true) announce(progress, kind, names, entry.modified)
    const checked = checkedEntry(entry, kind, names)
    if (names.length === 0) progress.rules.top?.(checked)
    progress.out.push(encodeEntry({ ...checked, sparse: kind === 'sparse' ? block : null }))
  }
  const content = (): void => {
    progress.expected = entry.size === 0 ? { what: 'header' } : { what: 'content', left: padded(entry.size), isKept }
  }
  if (kind === 'sparse' && block[482] !== 0) takeSparseMap(progress, content)
  else content()
}

/** Blocks that go on with the map of a sparse file, until one says that it is the last. */
function takeSparseMap(progress: Progress, after: () => void): void {
  const then = (block: Buffer): void => {
    progress.out.push(block)
    if (block[504] === 0) after()
    else takeSparseMap(progress, after)
  }
  progress.expected = { what: 'extension', left: blockBytes, parts: [], then }
}

/** Links beyond what is remembered are left to what unpacks the archive, which writes through none. */
function refuseThroughLinks({ links }: Progress, kind: EntryKind, names: readonly string[]): void {
  for (let depth = 1; links.size > 0 && depth < names.length; depth += 1)
    if (links.has(names.slice(0, depth).join('/'))) throw invalid(`${names.join('/')} leads through a link`)
  if (kind !== 'link') links.delete(names.join('/'))
  else if (links.size < mostDirectories) links.add(names.join('/'))
}

/** What is remembered is bounded: a directory that was forgotten is put in front once more. */
const mostDirectories = 100_000

function announce(progress: Progress, kind: EntryKind, names: readonly string[], modified: Buffer): void {
  const { directories, inside } = progress
  const above = names.slice(0, -1)
  if (!directories.has(above.join('/'))) {
    let depth = 0
    while (depth < above.length && above[depth] === inside[depth]) depth += 1
    for (depth += 1; depth <= above.length; depth += 1) {
      const parent = above.slice(0, depth)
      if (directories.has(parent.join('/'))) continue
      progress.out.push(encodeEntry(directoryEntry(parent, modified)))
      remember(directories, parent)
    }
  }
  progress.inside = kind === 'directory' ? names : above
  if (kind === 'directory') remember(directories, names)
  else directories.delete(names.join('/'))
}

function remember(directories: Set<string>, names: readonly string[]): void {
  if (directories.size < mostDirectories) directories.add(names.join('/'))
}

function padded(size: number): number {
  return Math.ceil(size / blockBytes) * blockBytes
}
