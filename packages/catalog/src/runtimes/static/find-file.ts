import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'

export interface Root {
  /** Absolute, links resolved: what the real path of every answered file must begin with. */
  readonly path: string
}

export async function openRoot(folder: string): Promise<Root> {
  const path = await realpath(folder)
  if (!(await stat(path)).isDirectory()) throw new Error('it is not a folder')
  return { path }
}

/** The caller closes `handle`. */
export interface FoundFile {
  readonly kind: 'file'
  readonly handle: FileHandle
  readonly name: string
  readonly size: number
  readonly modified: Date
  readonly etag: string
}

export type Found =
  | FoundFile
  /** A folder asked for without its last slash; relative links in its index would go wrong. */
  | { readonly kind: 'folder'; readonly location: string }
  | { readonly kind: 'noIndex' | 'missing' | 'malformed' }

/** What the path of a request names. `path` is as it came: percent-encoded, without the query. */
export async function findFile(root: Root, path: string): Promise<Found> {
  const names = namesOf(path)
  if (names === null) return { kind: 'malformed' }
  if (names.some(isHidden)) return { kind: 'missing' }

  const target = await inside(root, join(root.path, ...names))
  if (target === null) return { kind: 'missing' }
  if (!target.isFolder) return path.endsWith('/') ? { kind: 'missing' } : openFile(target.path)
  // Built from the decoded names: `//host` in a request must not become an address of another host.
  if (!path.endsWith('/')) return { kind: 'folder', location: `/${names.map(encodeURIComponent).join('/')}/` }

  const index = await inside(root, join(target.path, 'index.html'))
  return index === null || index.isFolder ? { kind: 'noIndex' } : openFile(index.path)
}

/** Names of a path without empty ones; null when it is no honest path. */
function namesOf(path: string): string[] | null {
  if (!path.startsWith('/')) return null
  try {
    const names = path.split('/').map(decodeURIComponent)
    // An encoded slash or a step upwards is never what a link on a page says; NUL would end the name early.
    if (names.some((name) => name === '..' || /[/\\\0]/.test(name))) return null
    return names.filter((name) => name !== '' && name !== '.')
  } catch {
    return null
  }
}

/** The project file may hold values of variables, and is in the served folder when that is the project itself. */
function isHidden(name: string): boolean {
  return (name.startsWith('.') && name !== '.well-known') || name === 'stackquay.yml' || name === 'stackquay.yaml'
}

/** The real place of a file or folder, null when there is none or when a link leads out of the root or to a hidden name. */
async function inside(root: Root, path: string): Promise<{ path: string; isFolder: boolean } | null> {
  try {
    const real = await realpath(path)
    if (real !== root.path && !real.startsWith(root.path === sep ? sep : root.path + sep)) return null
    const names = real.slice(root.path.length).split(sep)
    if (names.some(isHidden)) return null
    const entry = await stat(real)
    // Opening a pipe or a device could wait for ever.
    if (!entry.isFile() && !entry.isDirectory()) return null
    return { path: real, isFolder: entry.isDirectory() }
  } catch {
    return null
  }
}

async function openFile(path: string): Promise<Found> {
  let handle: FileHandle
  try {
    // NOFOLLOW and NONBLOCK: what was a file a moment ago may have become a link or a pipe.
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return { kind: 'missing' }
  }
  const entry = await handle.stat()
  if (!entry.isFile()) {
    await handle.close()
    return { kind: 'missing' }
  }
  return {
    kind: 'file',
    handle,
    name: path,
    size: entry.size,
    modified: entry.mtime,
    etag: `"${entry.size.toString(36)}-${Math.trunc(entry.mtimeMs * 1000).toString(36)}-${entry.ino.toString(36)}"`,
  }
}
