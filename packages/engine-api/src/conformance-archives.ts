import { blockBytes, encodeEntry, parseHeader, textOf } from './tar-blocks.ts'

/* Archives for the conformance suite and for tests of engines. */

/** One entry with its content. Of links, `content` is the target. */
export function archiveEntry(name: string, type: string, content = ''): Buffer {
  const isLink = type === '1' || type === '2'
  const size = isLink ? 0 : Buffer.byteLength(content)
  const link = isLink ? content : ''
  const about = { uid: 0, gid: 0, modified: textOf('00000000000\0'), sparse: null, mode: 0o6777, kind: 'file' } as const
  const header = Buffer.from(encodeEntry({ ...about, name, link, size }))
  const at = header.length - blockBytes
  header.write(type, at + 156, 'latin1')
  header.fill(0x20, at + 148, at + 156)
  const sum = header.subarray(at).reduce((all, byte) => all + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1')
  const body = Buffer.alloc(Math.ceil(size / blockBytes) * blockBytes)
  if (!isLink) body.write(content)
  return Buffer.concat([header, body])
}

export function archiveOf(...entries: readonly Buffer[]): Buffer {
  return Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)])
}

/** Each must be refused. */
export function hostileArchives(): readonly Buffer[] {
  const good = archiveEntry('./good', '0', 'content')
  return [
    archiveOf(good, archiveEntry('../out', '0', 'x')),
    archiveOf(good, archiveEntry('./a/../../out', '0', 'x')),
    archiveOf(good, archiveEntry('/tmp/out', '0', 'x')),
    archiveOf(good, archiveEntry('./hard', '1', '/etc/passwd')),
    archiveOf(good, archiveEntry('./hard', '1', '../../etc/passwd')),
    archiveOf(good, archiveEntry('./device', '3')),
    archiveOf(good, archiveEntry('./device', '4')),
    archiveOf(good, archiveEntry('./unknown', 'V')),
    good,
    good.subarray(0, 700),
    Buffer.concat([archiveOf(good), good]),
    Buffer.from('This is no archive.'.repeat(100)),
    Buffer.alloc(0),
  ]
}

/** The names of its entries, in order of the alphabet. */
export function namesIn(archive: Buffer): readonly string[] {
  const names: string[] = []
  for (let at = 0; at < archive.length && archive[at] !== 0; ) {
    const entry = parseHeader(archive.subarray(at, at + blockBytes))
    if (entry === null) throw new Error('A header is damaged.')
    names.push(entry.name)
    at += blockBytes + Math.ceil(entry.size / blockBytes) * blockBytes
  }
  return names.sort()
}
