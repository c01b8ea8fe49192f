import { EngineError } from './errors.ts'
import { type ArchiveEntry, type EntryKind, longTextOf, paxRecordsOf, textOf } from './tar-blocks.ts'

/* What may stand in an archive that is unpacked, one entry at a time. */

const mostName = 16 << 10

/** What an extended header says of the next entry; null when it is damaged. */
export type ReadExtension = (bytes: Buffer) => Record<string, string> | null

/** Null for what is an entry itself. */
export function extensionOf(type: string): ReadExtension | null {
  switch (type) {
    case 'L':
      return (bytes) => ({ path: longTextOf(bytes) })
    case 'K':
      return (bytes) => ({ linkpath: longTextOf(bytes) })
    case 'x':
      return paxRecordsOf
    case 'g':
      return (bytes) => {
        const records = paxRecordsOf(bytes)
        // What git archive puts there. Anything else would hold for all that follows.
        if (records === null || Object.keys(records).some((key) => key !== 'comment')) return null
        return {}
      }
    default:
      return null
  }
}

export function overridden(said: Readonly<Record<string, string>>): Partial<ArchiveEntry> {
  if (Object.keys(said).some((key) => key.startsWith('GNU.sparse.')))
    throw invalid('it holds sparse files in the form of POSIX archives; that of GNU (--format=gnu) is understood')
  const number = (key: 'size' | 'uid' | 'gid') => {
    const text = said[key]
    if (text === undefined) return {}
    if (!/^\d{1,15}$/.test(text)) throw invalid('an extended header has numbers that mean nothing')
    return { [key]: Number(text) }
  }
  return {
    ...(said.path === undefined ? {} : { name: said.path }),
    ...(said.linkpath === undefined ? {} : { link: said.linkpath }),
    ...(said.mtime === undefined ? {} : { modified: modifiedOf(said.mtime) }),
    ...number('size'),
    ...number('uid'),
    ...number('gid'),
  }
}

/** Whole seconds since 1970, as a header has them. */
function modifiedOf(text: string): Buffer {
  const seconds = /^(\d{1,11})(\.\d*)?$/.exec(text)?.[1] ?? '0'
  return textOf(`${Math.min(Number(seconds), 0o77777777777).toString(8).padStart(11, '0')}\0`)
}

export function placeOf({ type, name, size }: ArchiveEntry): {
  readonly kind: EntryKind
  readonly names: readonly string[]
} {
  const isDirectory = type === '5' || ('0\x007'.includes(type) && name.endsWith('/'))
  const kind = isDirectory ? 'directory' : kindOf[type]
  if (kind === undefined)
    throw invalid(
      '34'.includes(type) ? `it holds a device, ${shown(name)}` : `it holds ${shown(name)} of an unknown type`,
    )
  if (kind !== 'file' && kind !== 'sparse' && size !== 0) throw invalid(`${shown(name)} has content of its own`)
  const names = namesOf(name)
  if (names.length === 0 && kind !== 'directory') throw invalid('an entry has no name')
  return { kind, names }
}

const kindOf: Readonly<Record<string, EntryKind>> = {
  0: 'file',
  '\0': 'file',
  7: 'file',
  1: 'hard link',
  2: 'link',
  6: 'pipe',
  S: 'sparse',
}

export function checkedEntry(entry: ArchiveEntry, kind: EntryKind, names: readonly string[]) {
  const isDirectory = kind === 'directory'
  const link = linkOf(entry, kind)
  return {
    ...entry,
    name: `./${names.join('/')}${isDirectory && names.length > 0 ? '/' : ''}`,
    kind,
    link,
    mode: entry.mode & (isDirectory ? 0o3777 : 0o777),
  }
}

function linkOf({ name, link }: ArchiveEntry, kind: EntryKind): string {
  if (kind === 'link') {
    if (link === '' || link.includes('\0')) throw invalid(`the link ${shown(name)} leads nowhere`)
    if (link.length > mostName) throw invalid('a name in it is longer than any path')
    return link
  }
  if (kind !== 'hard link') return ''
  const names = namesOf(link)
  if (names.length === 0) throw invalid(`the link ${shown(name)} leads nowhere`)
  return `./${names.join('/')}`
}

export function directoryEntry(names: readonly string[], modified: Buffer) {
  const name = `./${names.join('/')}/`
  return { name, kind: 'directory', link: '', mode: 0o750, uid: 0, gid: 0, size: 0, modified, sparse: null } as const
}

function namesOf(path: string): readonly string[] {
  if (path.length > mostName) throw invalid('a name in it is longer than any path')
  if (path.includes('\0')) throw invalid('a name in it has a zero byte')
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (path.startsWith('/') || names.includes('..')) throw invalid(`${shown(path)} leads out of its folder`)
  return names
}

function shown(name: string): string {
  return JSON.stringify(Buffer.from(name.slice(0, 200), 'latin1').toString('utf8'))
}

export function invalid(why: string): EngineError {
  return new EngineError('invalid_archive', `The archive cannot be used: ${why}.`, {
    hint: 'Take another one, or make it again.',
  })
}
