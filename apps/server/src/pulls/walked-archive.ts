import { blockBytes, encodeEntry } from '@stackquay/engine-api/tar-blocks'
import type { RemoteEntry } from '@stackquay/targets'
import { paddingOf } from './tar-reader.ts'

/** Files that were listed elsewhere, as a tar archive. What is neither file nor folder is left out and told. */
export async function* walkedArchive(
  entries: AsyncIterable<RemoteEntry>,
  leftOut: (path: string) => void,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for await (const entry of entries) {
    if (entry.kind === 'other') leftOut(entry.path)
    else if (entry.kind === 'folder') yield header(entry.path, { size: 0, mode: 0o750, modified: 0 }, 'directory')
    else {
      yield header(entry.path, entry, 'file')
      for await (const chunk of entry.read(signal)) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      yield Buffer.alloc(paddingOf(entry.size))
    }
  }
  yield Buffer.alloc(2 * blockBytes)
}

function header(
  path: string,
  { size, mode, modified }: { readonly size: number; readonly mode: number; readonly modified: number },
  kind: 'file' | 'directory',
): Buffer {
  const seconds = Math.min(Math.max(0, Math.floor(modified)), 0o77777777777)
  return encodeEntry({
    name: `./${Buffer.from(path, 'utf8').toString('latin1')}${kind === 'directory' ? '/' : ''}`,
    link: '',
    // Whoever owns them must be able to read and to replace them.
    mode: mode | (kind === 'directory' ? 0o700 : 0o600),
    ...{ uid: 0, gid: 0, size, kind, sparse: null },
    modified: Buffer.from(`${seconds.toString(8).padStart(11, '0')}\0`, 'latin1'),
  })
}
