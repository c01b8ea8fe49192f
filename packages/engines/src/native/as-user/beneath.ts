import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { FilesError } from './files-error.ts'

/*
 * Finding a file below a folder while a program swaps folders for symbolic links. On Linux every step is taken from a descriptor
 * of the folder before it (`/proc/self/fd/<n>/<name>` is what openat(2) does), so that nothing that is renamed meanwhile leads
 * out. Elsewhere each step is checked and then taken, which a race can beat; there the service and its projects are one user.
 */

/** A folder below the root, as something to put `/name` behind. */
export interface Folder {
  readonly path: string
  close(): Promise<void>
}

export interface Found {
  /** The folder that holds it; the caller closes it. */
  readonly folder: Folder
  /** Its name there; `.` for the root itself. Never a link, unless it became one this moment: open it with O_NOFOLLOW. */
  readonly name: string
}

/** open(2) of Linux, the same number on every architecture that Node runs on: the place of a file, not its content. */
const O_PATH = 0o10000000
const heldByDescriptor = process.platform === 'linux'
const mostLinks = 40

/**
 * The place of `path`, relative to `root`. `links: 'inside'` follows symbolic links that stay below the root; with `'none'` the
 * first one on the way is refused, and the last name may be one.
 */
export async function findBeneath(root: string, path: string, links: 'inside' | 'none'): Promise<Found> {
  if (!root.startsWith('/') || path.startsWith('/') || path.includes('\0') || root.includes('\0'))
    throw new FilesError('outside')
  let trail: string[] = []
  let folder = await enterRoot(root)
  try {
    let rest = path.split('/')
    for (let followed = 0; rest.length > 0; ) {
      const [name = '', ...others] = rest
      rest = others
      if (name === '' || name === '.') continue
      if (name === '..') {
        if (trail.pop() === undefined) throw new FilesError('outside')
        folder = await instead(folder, enterAll(root, trail))
        continue
      }
      const target = links === 'none' ? null : await linkAt(folder, name)
      if (target !== null) {
        followed += 1
        if (followed > mostLinks) throw new FilesError('outside')
        rest = [...(await belowRoot(root, target)).split('/'), ...rest]
        if (target.startsWith('/')) {
          trail = []
          folder = await instead(folder, enterRoot(root))
        }
        continue
      }
      if (rest.every((part) => part === '' || part === '.')) return { folder, name }
      folder = await instead(folder, enter(folder, name))
      trail = [...trail, name]
    }
    return { folder, name: '.' }
  } catch (error) {
    await folder.close()
    throw error
  }
}

/** The folder with that name in this one. A link is none. */
export function enter(folder: Folder, name: string | Buffer): Promise<Folder> {
  return hold(inside(folder, name))
}

/** The path of an entry; names need not be text. */
export function inside(folder: Folder, name: string | Buffer): string | Buffer {
  return typeof name === 'string' ? `${folder.path}/${name}` : Buffer.concat([Buffer.from(`${folder.path}/`), name])
}

/**
 * A regular file, opened for reading. On Linux it is looked at before it is opened: a pipe or a device is never opened, not even
 * for a moment.
 */
export async function openFile({ folder, name }: Found): Promise<FileHandle> {
  const path = inside(folder, name)
  if (!heldByDescriptor) {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw new FilesError('not_a_file')
  }
  const place = await open(path, O_PATH | constants.O_NOFOLLOW)
  try {
    if (!(await place.stat()).isFile()) throw new FilesError('not_a_file')
    return await open(`/proc/self/fd/${place.fd}`, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } finally {
    await place.close()
  }
}

/** The root's own last name is no link either: who may rename it could else lead anywhere. */
function enterRoot(root: string): Promise<Folder> {
  return hold(root === '/' ? '/.' : root.replace(/\/+$/, ''))
}

async function enterAll(root: string, names: readonly string[]): Promise<Folder> {
  let folder = await enterRoot(root)
  for (const name of names) folder = await instead(folder, enter(folder, name))
  return folder
}

async function instead(folder: Folder, next: Promise<Folder>): Promise<Folder> {
  const found = await next.catch(async (error: unknown) => {
    await folder.close()
    throw error
  })
  await folder.close()
  return found
}

async function hold(path: string | Buffer): Promise<Folder> {
  if (!heldByDescriptor) {
    const info = await lstat(path)
    if (!info.isDirectory()) throw new FilesError(info.isSymbolicLink() ? 'outside' : 'not_a_folder')
    return { path: String(path), close: async () => {} }
  }
  const handle = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  let open_ = true
  return {
    path: `/proc/self/fd/${handle.fd}`,
    close: async () => {
      if (!open_) return
      open_ = false
      await handle.close()
    },
  }
}

async function linkAt(folder: Folder, name: string): Promise<string | null> {
  try {
    return await readlink(inside(folder, name))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EINVAL') return null
    throw error
  }
}

/** Where a link leads, relative to where its path begins: the folder it is in, or the root. */
async function belowRoot(root: string, target: string): Promise<string> {
  if (!target.startsWith('/')) return target
  for (const base of [root.replace(/\/+$/, ''), await realpath(root)]) {
    if (target === base) return '.'
    if (target.startsWith(`${base}/`)) return target.slice(base.length + 1)
  }
  throw new FilesError('outside')
}
