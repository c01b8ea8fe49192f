import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, rmdir, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isObjectName, newest, requireName, type Target, TargetError } from '../target.ts'

export interface FolderSettings {
  /** Absolute, of this machine: a mounted disk, a share of the network. It must be there; it is never made. */
  readonly path: string
}

const chunkBytes = 1 << 20

/** Nothing below the folder is followed anywhere else: others may write in it. */
export function openFolderTarget({ path }: FolderSettings): Target {
  const place = async (name: string): Promise<string> => join(await top(path), requireName(name))
  return {
    put: (name, bytes, signal) =>
      told(path, async () => {
        const final = await place(name)
        await makeFoldersAbove(await top(path), name)
        // What a kill leaves of it has no name of a piece, and goes with the next copy.
        const beside = `${final}.${randomBytes(4).toString('hex')}-new`
        try {
          await writeNew(beside, bytes, signal)
          await rename(beside, final)
        } catch (error) {
          await rm(beside, { force: true })
          throw error
        }
        await syncFolder(dirname(final))
      }),
    get: (name, mostBytes, signal) =>
      told(path, async () => {
        const file = await openPlain(await place(name))
        return file === null ? null : await readAll(file, name, mostBytes, signal)
      }),
    stat: (name) => told(path, async () => (await plainSize(await place(name))) ?? null),
    list: (folder, signal) =>
      told(path, async () => {
        const found = new Map<string, number>()
        const names = (await orNull(readdir(await place(folder)))) ?? []
        for (const name of names.filter(isObjectName)) {
          signal.throwIfAborted()
          const bytes = await plainSize(await place(`${folder}/${name}`))
          if (bytes !== null) found.set(name, bytes)
        }
        return found
      }),
    folders: (folder) =>
      told(path, async () => {
        const entries = (await orNull(readdir(await place(folder), { withFileTypes: true }))) ?? []
        return entries.filter((entry) => entry.isDirectory() && isObjectName(entry.name)).map(({ name }) => name)
      }),
    changedAt: (folder, signal) =>
      told(path, async () => {
        const times: number[] = []
        for (const name of (await orNull(readdir(await place(folder)))) ?? []) {
          signal.throwIfAborted()
          if (!isObjectName(name)) continue
          const found = await orNull(lstat(await place(`${folder}/${name}`)))
          if (found?.isFile() === true) times.push(found.mtimeMs)
        }
        return newest(times)
      }),
    remove: (name) =>
      told(path, async () => {
        const file = await place(name)
        await rm(file, { force: true })
        // The last one takes its folder along; others are not empty.
        if (name.includes('/')) await rmdir(dirname(file)).catch(() => undefined)
      }),
    freeBytes: () =>
      told(path, async () => {
        const { bavail, bsize } = await statfs(await top(path))
        return bavail * bsize
      }),
    close: async () => {},
  }
}

/** Where the folder really is. A disk that is not mounted is told, and not replaced by a new folder. */
async function top(path: string): Promise<string> {
  const real = await orNull(realpath(path))
  if (real === null) throw new TargetError('missing', `There is no folder ${path}. Is the disk mounted?`)
  if (!(await lstat(real)).isDirectory()) throw new TargetError('missing', `${path} is no folder.`)
  return real
}

async function makeFoldersAbove(root: string, name: string): Promise<void> {
  let folder = root
  for (const part of name.split('/').slice(0, -1)) {
    folder = join(folder, part)
    await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    if (!(await lstat(folder)).isDirectory()) throw new TargetError('refused', `${folder} is no folder, but a link.`)
  }
}

async function writeNew(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for (let done = 0; done < bytes.length; ) {
      signal.throwIfAborted()
      done += (await file.write(bytes, done, Math.min(chunkBytes, bytes.length - done))).bytesWritten
    }
    await file.sync()
  } finally {
    await file.close()
  }
}

async function openPlain(path: string): Promise<FileHandle | null> {
  const file = await orNull(open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK))
  if (file === null || (await file.stat()).isFile()) return file
  await file.close()
  return null
}

async function readAll(file: FileHandle, name: string, mostBytes: number, signal: AbortSignal): Promise<Buffer> {
  try {
    const { size } = await file.stat()
    if (size > mostBytes) throw new TargetError('damaged', `${name} is larger than it can be.`)
    const bytes = Buffer.alloc(size)
    for (let done = 0; done < size; ) {
      signal.throwIfAborted()
      const { bytesRead } = await file.read(bytes, done, Math.min(chunkBytes, size - done), done)
      if (bytesRead === 0) throw new TargetError('damaged', `${name} became shorter while it was read.`)
      done += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

/** Null for what is no plain file. */
async function plainSize(path: string): Promise<number | null> {
  const found = await orNull(lstat(path))
  return found?.isFile() === true ? found.size : null
}

/** Some file systems of the network cannot. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await folder.sync().catch((error: unknown) => {
      if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes(codeOf(error))) throw error
    })
  } finally {
    await folder.close()
  }
}

async function orNull<Found>(promise: Promise<Found>): Promise<Found | null> {
  try {
    return await promise
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null
    throw error
  }
}

async function told<Result>(path: string, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act()
  } catch (error) {
    const code = codeOf(error)
    const cause = { cause: error }
    if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code))
      throw new TargetError('full', `There is no room in ${path}.`, cause)
    if (['EACCES', 'EPERM', 'EROFS', 'ELOOP'].includes(code))
      throw new TargetError('refused', `The service may not write in ${path} (${code}).`, cause)
    // It was there when this began.
    if (['ENOENT', 'ENOTDIR'].includes(code))
      throw new TargetError('missing', `${path} is not there any more. Is the disk mounted?`, cause)
    // A share of the network, or a disk that was pulled.
    if (['EIO', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'ENOTCONN', 'ENXIO'].includes(code))
      throw new TargetError('unreachable', `${path} does not answer (${code}).`, cause)
    throw error
  }
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | null)?.code ?? '')
}
