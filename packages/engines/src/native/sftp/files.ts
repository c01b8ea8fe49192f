import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  openSync,
  renameSync,
  type Stats,
  truncateSync,
  unlinkSync,
  utimesSync,
} from 'node:fs'
import type { Attributes } from './attributes.ts'
import { type Place, pinned } from './place.ts'

/** What a client asks for when it opens a file. */
export const openFlags = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 }

/** Opens a regular file, or makes one. A pipe or a device is never opened, not even for a moment. */
export function openFile(place: Place, wanted: number, mode: number): number {
  const has = (flag: number) => (wanted & flag) !== 0
  const reads = has(openFlags.read)
  const writes = has(openFlags.write) || has(openFlags.append)
  const access = writes ? (reads ? constants.O_RDWR : constants.O_WRONLY) : constants.O_RDONLY
  const flags = access | (has(openFlags.append) ? constants.O_APPEND : 0) | constants.O_NOCTTY | constants.O_NONBLOCK
  if (place.name === '.') throw failure('EISDIR', 'It is a folder')
  if (writes && has(openFlags.create)) {
    try {
      return openSync(place.path, flags | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode & 0o777)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST' || has(openFlags.exclusive)) throw error
    }
  }
  return pinned(place, (path, info) => {
    if (info.isDirectory()) throw failure('EISDIR', 'It is a folder')
    if (!info.isFile()) throw failure('EACCES', 'It is no ordinary file')
    return openSync(path, flags | (writes && has(openFlags.truncate) ? constants.O_TRUNC : 0))
  })
}

/** Of what is at a place itself, never of what a link there leads to. */
export function changeAt(place: Place, wanted: Attributes): void {
  pinned(place, (path, info) => {
    if (info.isSymbolicLink()) throw failure('EACCES', 'It became a link meanwhile')
    refuseOwner(info, wanted)
    if (wanted.size !== undefined) {
      if (!info.isFile()) throw failure('EACCES', 'It is no ordinary file')
      truncateSync(path, wanted.size)
    }
    if (wanted.mode !== undefined) chmodSync(path, wanted.mode)
    if (wanted.times !== undefined) utimesSync(path, wanted.times.accessed, wanted.times.modified)
  })
}

/** Of a link itself, too: links have times, and no mode of their own. */
export function changeLinkAt(place: Place, wanted: Attributes): void {
  const info = lstatSync(place.path)
  if (!info.isSymbolicLink()) {
    changeAt(place, wanted)
    return
  }
  refuseOwner(info, wanted)
  if (wanted.times !== undefined) lutimesSync(place.path, wanted.times.accessed, wanted.times.modified)
}

export function changeOpen(fd: number, wanted: Attributes): void {
  refuseOwner(fstatSync(fd), wanted)
  if (wanted.size !== undefined) ftruncateSync(fd, wanted.size)
  if (wanted.mode !== undefined) fchmodSync(fd, wanted.mode)
  if (wanted.times !== undefined) futimesSync(fd, wanted.times.accessed, wanted.times.modified)
}

/** A file of a project stays its user’s; what asks for what is so anyhow is no change. */
function refuseOwner(info: Stats, { owner }: Attributes): void {
  if (owner !== undefined && (owner.uid !== info.uid || owner.gid !== info.gid))
    throw failure('EPERM', 'Files of a project belong to its user')
}

/** The rename of version 3: nothing is replaced. */
export function renameToNew(from: Place, to: Place): void {
  refuseRoot(from)
  refuseRoot(to)
  const isFolder = lstatSync(from.path).isDirectory()
  if (!isFolder) {
    try {
      linkSync(from.path, to.path)
    } catch (error) {
      // The file system has no hard links, or this file may not have another one.
      if (!['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(codeOf(error))) throw error
      renameUnlessThere(from, to)
      return
    }
    unlinkSync(from.path)
    return
  }
  renameUnlessThere(from, to)
}

function renameUnlessThere(from: Place, to: Place): void {
  if (lstatSync(to.path, { throwIfNoEntry: false }) !== undefined)
    throw failure('EEXIST', 'There is something by that name')
  renameSync(from.path, to.path)
}

export function refuseRoot(place: Place): void {
  if (place.name === '.') throw failure('EACCES', 'It is the folder of the project itself')
}

/** Writes what is durable to the disk, for files alone. */
export function closeQuietly(fd: number): void {
  try {
    closeSync(fd)
  } catch {}
}

export function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? '')
}
