import { fileTrash } from '@stackquay/domain'
import { blockBytes, encodeEntry } from '@stackquay/engine-api/tar-blocks'
import { FilesError, type SftpEntry, type SftpFiles } from '@stackquay/engines'
import { sftpPath } from './paths.ts'

const mostInFolder = 1_000_000
const deepest = 200
const chunkBytes = 128 << 10

/** A folder as tar, in a folder of its name. Links stay links, so nothing is read that lies elsewhere; pipes and devices are left out. */
export async function* tarOf(files: SftpFiles, folder: readonly string[], name: string): AsyncGenerator<Uint8Array> {
  const top = Buffer.from(name).toString('latin1')
  yield* folderOf(files, sftpPath(folder), top, folder.length === 0 ? [fileTrash] : [], deepest)
  yield Buffer.alloc(2 * blockBytes)
}

async function* folderOf(
  files: SftpFiles,
  path: string,
  name: string,
  without: readonly string[],
  depth: number,
): AsyncGenerator<Uint8Array> {
  if (depth === 0) throw new FilesError('too_many')
  const info = await files.look(path, 'follow')
  yield header({ ...info, name: `${name}/` }, 'directory', 0)
  const { entries, isWhole } = await files.list(path, mostInFolder)
  if (!isWhole) throw new FilesError('too_many')
  for (const entry of entries) {
    if (without.includes(entry.name)) continue
    const below = { ...entry, name: `${name}/${entry.name}` }
    const at = `${path}/${entry.name}`
    if (entry.kind === 'folder') yield* folderOf(files, at, below.name, [], depth - 1)
    else if (entry.kind === 'link') yield header(below, 'link', 0, await files.linkTarget(at))
    else if (entry.kind === 'file' && entry.size === 0) yield header(below, 'file', 0)
    else if (entry.kind === 'file') yield* fileOf(files, at, below)
  }
}

/** As long as it was when it was opened: one that grows meanwhile ends there. One that went meanwhile is left out. */
async function* fileOf(files: SftpFiles, path: string, entry: SftpEntry): AsyncGenerator<Uint8Array> {
  const handle = await files.openToRead(path).catch((error: unknown) => {
    if (error instanceof FilesError && error.code === 'missing') return null
    throw error
  })
  if (handle === null) return
  try {
    const { size, mode, modified } = await files.info(handle)
    yield header({ name: entry.name, mode, modified }, 'file', size)
    for (let at = 0; at < size; ) {
      const bytes = await files.read(handle, at, Math.min(chunkBytes, size - at))
      if (bytes === null) throw new FilesError('changed')
      yield bytes
      at += bytes.length
    }
    if (size % blockBytes !== 0) yield Buffer.alloc(blockBytes - (size % blockBytes))
  } finally {
    await files.close(handle).catch(() => undefined)
  }
}

function header(
  { name, mode, modified }: Pick<SftpEntry, 'name' | 'mode' | 'modified'>,
  kind: 'file' | 'directory' | 'link',
  size: number,
  link = '',
): Buffer {
  const time = Buffer.from(`${Math.max(0, modified).toString(8).padStart(11, '0')}\0`, 'latin1')
  return encodeEntry({ kind, name, link, mode: mode & 0o777, uid: 0, gid: 0, size, modified: time, sparse: null })
}
