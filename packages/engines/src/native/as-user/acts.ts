import { randomBytes } from 'node:crypto'
import { constants, type Dirent } from 'node:fs'
import { access, type FileHandle, lstat, mkdir, open, opendir, realpath, rename, rm, stat } from 'node:fs/promises'
import { enter, type Folder, findBeneath, inside, openFile } from './beneath.ts'
import { asFilesError, FilesError } from './files-error.ts'

/*
 * Acts on files of a project, as the user of this process. The same code runs in the service when projects are its own
 * user, and else in a process that is the project's user.
 */

export interface Answer {
  /** Small, as JSON. */
  readonly value: unknown
  readonly bytes: Buffer
}

export type Act = (args: never, bytes: Buffer, signal: AbortSignal) => Promise<Answer>

export interface ReadArgs {
  readonly root: string
  readonly path: string
  readonly maxBytes: number
  readonly links: 'inside' | 'none'
  /** Only what belongs to this user itself: a hard link to another user's file does not. */
  readonly own: boolean
}

export interface ReadPartArgs {
  readonly root: string
  readonly path: string
  readonly offset: number
  readonly length: number
}

export interface ReadManyArgs {
  readonly root: string
  readonly paths: readonly string[]
  /** A larger file is there, without its content. */
  readonly maxBytesEach: number
  /** Of all; what comes after that is there, without its content. */
  readonly maxBytes: number
}

export interface StatManyArgs {
  readonly root: string
  readonly paths: readonly string[]
}

export interface WalkArgs {
  readonly root: string
  readonly maxEntries: number
  readonly skip: { readonly names: readonly string[]; readonly endings: readonly string[] }
}

export interface WriteArgs {
  readonly root: string
  readonly path: string
  readonly mode: number
  /** Fails when there is anything; else the file is replaced whole or not at all. */
  readonly exclusive: boolean
}

export const acts = {
  read: async ({ root, path, maxBytes, links, own }: ReadArgs, _bytes: Buffer, signal: AbortSignal) => {
    const found = await findBeneath(root, path, links)
    try {
      return { value: null, bytes: await contentOf(await openFile(found), { maxBytes, own, signal }) }
    } finally {
      await found.folder.close()
    }
  },

  /** A part of a file, and what the file is: a mark that is another one when it was written to or replaced in between. */
  readPart: async ({ root, path, offset, length }: ReadPartArgs, _bytes: Buffer, _signal: AbortSignal) => {
    const found = await findBeneath(root, path, 'inside')
    try {
      const file = await openFile(found)
      try {
        const { size, mtimeNs, ino, dev } = await file.stat({ bigint: true })
        const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(length, mostAtOnce)), 0, null, offset)
        const value = { size: Number(size), mark: `${dev} ${ino} ${size} ${mtimeNs}` }
        return { value, bytes: buffer.subarray(0, bytesRead) }
      } finally {
        await file.close()
      }
    } finally {
      await found.folder.close()
    }
  },

  readMany: async ({ root, paths, maxBytesEach, maxBytes }: ReadManyArgs, _bytes: Buffer, signal: AbortSignal) => {
    const sizes: (number | boolean)[] = []
    const parts: Buffer[] = []
    let left = maxBytes
    for (const path of paths) {
      signal.throwIfAborted()
      const content = await contentOrPresence(root, path, Math.min(maxBytesEach, left), signal)
      if (typeof content === 'boolean') sizes.push(content)
      else {
        sizes.push(content.length)
        parts.push(content)
        left -= content.length
      }
    }
    return { value: sizes, bytes: Buffer.concat(parts) }
  },

  /** One line for each path, ended by zero: `mode size mtime`, or `-`. */
  statMany: async ({ root, paths }: StatManyArgs, _bytes: Buffer, signal: AbortSignal) => {
    const lines: string[] = []
    for (const path of paths) {
      signal.throwIfAborted()
      lines.push(`${(await infoAt(root, path)) ?? '-'}\0`)
    }
    return { value: null, bytes: Buffer.from(lines.join('')) }
  },

  /** Lines `mode size mtime path`, ended by zero, in no order. Links are entries; nothing is entered through one. */
  walk: async ({ root, maxEntries, skip }: WalkArgs, _bytes: Buffer, signal: AbortSignal) => {
    const { folder } = await findBeneath(root, '.', 'none')
    const lines: Buffer[] = []
    const names = new Set(skip.names)
    const passed = (name: string) => names.has(name) || skip.endings.some((ending) => name.endsWith(ending))
    let entries = 0
    const visit = async (at: Folder, above: Buffer, depth: number): Promise<void> => {
      for (const entry of await entriesOf(at, maxEntries - entries)) {
        signal.throwIfAborted()
        entries += 1
        if (entries > maxEntries || depth > mostDepth) throw new FilesError('too_many')
        if (passed(entry.name.toString('utf8'))) continue
        const path = above.length === 0 ? entry.name : Buffer.concat([above, slash, entry.name])
        if (entry.isDirectory()) {
          const next = await enter(at, entry.name)
          await visit(next, path, depth + 1).finally(() => next.close())
        } else {
          const info = await infoOf(inside(at, entry.name))
          if (info !== null) lines.push(Buffer.concat([Buffer.from(`${info} `), path, zero]))
        }
      }
    }
    await visit(folder, Buffer.alloc(0), 0).finally(() => folder.close())
    return { value: null, bytes: Buffer.concat(lines) }
  },

  list: async ({ root, path, maxEntries }: { root: string; path: string; maxEntries: number }) => {
    const above = await findBeneath(root, path, 'inside')
    const folder = await enter(above.folder, above.name).finally(() => above.folder.close())
    try {
      const entries = await entriesOf(folder, maxEntries)
      if (entries.length > maxEntries) throw new FilesError('too_many')
      return { value: entries.map((entry) => [entry.name.toString('utf8'), kindOf(entry)]), bytes: none }
    } finally {
      await folder.close()
    }
  },

  write: async ({ root, path, mode, exclusive }: WriteArgs, bytes: Buffer) => {
    const { folder, name } = await findBeneath(root, path, 'none')
    try {
      if (name === '.') throw new FilesError('not_a_file')
      const target = inside(folder, name)
      const temporary = exclusive ? target : inside(folder, `.${randomBytes(8).toString('hex')}.tmp`)
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
      const file = await open(temporary, flags, mode)
      try {
        await file.writeFile(bytes)
        await file.chmod(mode)
        await file.sync()
        if (!exclusive) await rename(temporary, target)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      } finally {
        await file.close()
      }
      return nothing
    } finally {
      await folder.close()
    }
  },

  /** Renames what is there, in one act. Nothing may be there already. Links are not followed. */
  move: async ({ root, from, to }: { root: string; from: string; to: string }) => {
    const source = await findBeneath(root, from, 'none')
    try {
      const target = await findBeneath(root, to, 'none')
      try {
        if (source.name === '.' || target.name === '.') throw new FilesError('outside')
        const place = inside(target.folder, target.name)
        if ((await lstat(place).catch(() => null)) !== null) throw new FilesError('exists')
        await rename(inside(source.folder, source.name), place)
        return nothing
      } finally {
        await target.folder.close()
      }
    } finally {
      await source.folder.close()
    }
  },

  /** With every folder on the way. What is there already stays as it is. */
  makeFolder: async ({ root, path, mode }: { root: string; path: string; mode: number }) => {
    const parts = path.split('/').filter((part) => part !== '' && part !== '.')
    if (parts.includes('..')) throw new FilesError('outside')
    const { folder } = await findBeneath(root, '.', 'none')
    let at = folder
    try {
      for (const part of parts) {
        await mkdir(inside(at, part), { mode }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        })
        const next = await enter(at, part)
        await at.close()
        at = next
      }
    } finally {
      await at.close()
    }
    return nothing
  },

  /** A folder anywhere that this user may see: where it really lies, and what it may not do there. */
  folder: async ({ path }: { path: string }) => {
    const real = await realpath(path)
    if (!(await stat(real)).isDirectory()) throw new FilesError('not_a_folder')
    for (const [mode, what] of [
      [constants.X_OK, 'enter'],
      [constants.R_OK, 'read'],
      [constants.W_OK, 'write'],
    ] as const) {
      if (!(await able(real, mode))) return { value: { real, lacks: what }, bytes: none }
    }
    return { value: { real, lacks: null }, bytes: none }
  },

  /** The number of the first that is a file which this user may execute; -1 when there is none. */
  firstProgram: async ({ paths }: { paths: readonly string[] }, _bytes: Buffer, signal: AbortSignal) => {
    for (const [index, path] of paths.entries()) {
      signal.throwIfAborted()
      const info = await stat(path).catch(() => null)
      if (info?.isFile() === true && (await able(path, constants.X_OK))) return { value: index, bytes: none }
    }
    return { value: -1, bytes: none }
  },
} as const satisfies Readonly<Record<string, (args: never, bytes: Buffer, signal: AbortSignal) => Promise<Answer>>>

export type ActName = keyof typeof acts

const none = Buffer.alloc(0)
const nothing: Answer = { value: null, bytes: none }
const slash = Buffer.from('/')
const zero = Buffer.from('\0')
const mostDepth = 200

async function contentOrPresence(
  root: string,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer | boolean> {
  const found = await findBeneath(root, path, 'inside').catch(() => null)
  if (found === null) return false
  try {
    return await contentOf(await openFile(found), { maxBytes, own: false, signal })
  } catch (error) {
    signal.throwIfAborted()
    const { code } = asFilesError(error)
    return code !== 'missing' && code !== 'outside'
  } finally {
    await found.folder.close()
  }
}

/** Closes the file. One that grows meanwhile is read up to the limit and then refused. */
async function contentOf(
  file: FileHandle,
  { maxBytes, own, signal }: { readonly maxBytes: number; readonly own: boolean; readonly signal: AbortSignal },
): Promise<Buffer> {
  try {
    const { size, uid } = await file.stat()
    if (own && uid !== process.getuid?.()) throw new FilesError('denied')
    if (size > maxBytes) throw new FilesError('too_large')
    const parts: Buffer[] = []
    for (let total = 0; ; ) {
      signal.throwIfAborted()
      // Files of /proc and the like say that they are empty.
      const room = Math.min(Math.max(size - total + 1, 4096), maxBytes - total + 1, mostAtOnce)
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(room), 0, room, total)
      total += bytesRead
      if (total > maxBytes) throw new FilesError('too_large')
      if (bytesRead === 0) return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
      parts.push(buffer.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}

const mostAtOnce = 4 << 20

/** One more than `most`, where there are so many. */
async function entriesOf(folder: Folder, most: number): Promise<Dirent<Buffer>[]> {
  const entries: Dirent<Buffer>[] = []
  // Types say that directories are read as text only.
  const encoded = { encoding: 'buffer' } as unknown as { encoding: 'utf8' }
  for await (const entry of await opendir(`${folder.path}/.`, encoded)) {
    entries.push(entry as unknown as Dirent<Buffer>)
    if (entries.length > most) break
  }
  return entries
}

async function infoAt(root: string, path: string): Promise<string | null> {
  const found = await findBeneath(root, path, 'none').catch(() => null)
  if (found === null) return null
  return infoOf(inside(found.folder, found.name)).finally(() => found.folder.close())
}

async function infoOf(path: string | Buffer): Promise<string | null> {
  const info = await lstat(path, { bigint: true }).catch(() => null)
  return info === null ? null : `${info.mode} ${info.size} ${info.mtimeNs}`
}

function kindOf(entry: Dirent<Buffer>): 'file' | 'folder' | 'link' | 'other' {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

async function able(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
