import { constants, type Stats } from 'node:fs'
import {
  chmod,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { asFilesError } from './files-error.ts'
import { giveUpRights } from './give-up-rights.ts'

/*
 * Copies a tree as the project's user, block by block where the file system cannot share blocks. Arguments: uid, gid (`-`: stay the user of this
 * process), and what to do as JSON. It prints a line of JSON every now and then and one with what it did, then reads what to copy later, a
 * line of JSON, and does that; it ends with its input.
 *
 * The target is entered before the rights are given up: the folder above it belongs to the service alone, so no program of the user
 * reaches what is not finished. Paths are bytes, kept as latin1.
 */

export interface CopyTreeArgs {
  readonly source: string
  /** A folder that is there and belongs to the user. */
  readonly target: string
  /** Files that stay out; of a folder, what is in it. */
  readonly leftOut: readonly string[]
  /** Programs write meanwhile: a file that went away is none. */
  readonly live: boolean
}

/** What is copied when all else is there. */
export interface LaterArgs {
  /** What is in these folders, which are in the target already. */
  readonly only: readonly string[]
  /** Written into the target, last. */
  readonly files: Readonly<Record<string, string>>
}

export interface CopiedTree {
  /** Bytes on disk whose blocks both share. */
  readonly clonedBytes: number
  readonly copiedBytes: number
}

const atOnce = 8
const chunkBytes = 1 << 20
const blockBytes = 4096
const mostDepth = 400
const tellMs = 500
/** That the two files cannot share blocks: another file system, or one without it, or a file that is left out of it. */
const cannotClone: readonly unknown[] = ['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOTTY', 'ENOSYS']

function createCopy({ source, leftOut, live }: Omit<CopyTreeArgs, 'target'>, onBytes: (bytes: number) => void) {
  const skipped = new Set(leftOut.map(latin1))
  let clonedBytes = 0
  let copiedBytes = 0
  let clones: 'perhaps' | 'yes' | 'no' = 'perhaps'
  let told = Date.now()
  const from = (path: string) => bytesOf(`${latin1(source)}/${path}`)
  const to = (path: string) => bytesOf(`./${path}`)
  /** Null: it went away while it was looked for. */
  const unlessGone = <T>(promise: Promise<T>): Promise<T | null> =>
    promise.catch((error: NodeJS.ErrnoException) => {
      if (live && error.code === 'ENOENT') return null
      throw error
    })
  const tell = () => {
    if (Date.now() < told + tellMs) return
    told = Date.now()
    onBytes(clonedBytes + copiedBytes)
  }

  async function contents(path: string, { isWhole, depth }: { isWhole: boolean; depth: number }): Promise<void> {
    if (depth > mostDepth) throw Object.assign(new Error('too deep'), { code: 'ENAMETOOLONG' })
    const names = await unlessGone(readdir(from(path), { encoding: 'buffer' }))
    const folders: [string, Stats][] = []
    const waiting = (names ?? []).map((name) => name.toString('latin1')).values()
    const take = async () => {
      for (const name of waiting) {
        const each = path === '' ? name : `${path}/${name}`
        const isLeftOut = !isWhole && skipped.has(each)
        const info = await unlessGone(lstat(from(each)))
        if (info === null) continue
        if (info.isDirectory()) folders.push([each, info])
        else if (!isLeftOut) await entry(each, info)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, take))
    for (const [each, info] of folders) {
      await mkdir(to(each), 0o700)
      if (isWhole || !skipped.has(each)) await contents(each, { isWhole, depth: depth + 1 })
      await chmod(to(each), info.mode & 0o7777)
    }
  }

  /** Sockets, pipes and devices are no data. */
  async function entry(path: string, info: Stats): Promise<void> {
    if (info.isSymbolicLink()) {
      const target = await unlessGone(readlink(from(path), { encoding: 'buffer' }))
      if (target !== null) await symlink(target, to(path))
    } else if (info.isFile()) await file(path, info)
  }

  async function file(path: string, info: Stats): Promise<void> {
    const bytes = Math.min(info.size, info.blocks * 512)
    if (clones !== 'no' && info.size > 0) {
      const cloned = await unlessGone(clone(path))
      if (cloned === null) return
      if (cloned) clonedBytes += bytes
      if (cloned) clones = 'yes'
      else if (clones === 'perhaps') clones = 'no'
      tell()
      if (cloned) return
    }
    if ((await unlessGone(copyBytes(from(path), to(path), info))) === null) return
    copiedBytes += bytes
    tell()
  }

  async function clone(path: string): Promise<boolean> {
    try {
      await copyFile(from(path), to(path), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
      return true
    } catch (error) {
      if (!cannotClone.includes((error as NodeJS.ErrnoException).code)) throw error
      await rm(to(path), { force: true })
      return false
    }
  }

  return { contents, copied: (): CopiedTree => ({ clonedBytes, copiedBytes }) }
}

/** As far as it was long when it was looked at: one that grows meanwhile would never end. Holes stay holes. */
async function copyBytes(from: Buffer, to: Buffer, { size, blocks, mode }: Stats): Promise<true> {
  const reader = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  let writer: FileHandle | null = null
  try {
    writer = await open(to, 'wx', 0o600)
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(size, 1)))
    const isSparse = blocks * 512 < size
    let at = 0
    while (at < size) {
      const { bytesRead } = await reader.read(buffer, 0, Math.min(buffer.length, size - at), at)
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      if (isSparse) await writeBlocks(writer, chunk, at)
      else await writeAll(writer, chunk, at)
      at += bytesRead
    }
    if (isSparse) await truncate(to, at)
    await writer.chmod(mode & 0o7777)
    return true
  } finally {
    await reader.close()
    await writer?.close()
  }
}

const zeros = Buffer.alloc(blockBytes)

async function writeBlocks(writer: FileHandle, chunk: Buffer, at: number): Promise<void> {
  const isHole = (offset: number) => {
    const block = chunk.subarray(offset, offset + blockBytes)
    return block.equals(block.length === blockBytes ? zeros : zeros.subarray(0, block.length))
  }
  for (let offset = 0; offset < chunk.length; ) {
    let end = offset
    while (end < chunk.length && !isHole(end)) end += blockBytes
    if (end > offset) await writeAll(writer, chunk.subarray(offset, Math.min(end, chunk.length)), at + offset)
    offset = end > offset ? end : offset + blockBytes
  }
}

async function writeAll(writer: FileHandle, chunk: Buffer, at: number): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await writer.write(chunk, done, chunk.length - done, at + done)
    done += bytesWritten
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const target = bytesOf(`./${latin1(path)}`)
  await mkdir(dirname(`./${path}`), { recursive: true, mode: 0o700 })
  await writeFile(target, text, { mode: 0o600, flag: 'wx' })
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

async function main([uid = '', gid = '', text = '']: readonly string[]): Promise<void> {
  const args = JSON.parse(text) as CopyTreeArgs
  const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
  const copy = createCopy(args, (bytes) => say({ bytes }))
  try {
    // Threads are made while there is no limit of processes in the way.
    await lstat(args.target)
    process.chdir(args.target)
    if (uid !== '-') giveUpRights(Number(uid), Number(gid))
    process.umask(0o077)
    for (const event of ['end', 'error', 'close'] as const) process.stdin.on(event, () => process.exit(1))
    const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
    await copy.contents('', { isWhole: false, depth: 0 })
    say({ done: copy.copied() })
    const { only, files } = JSON.parse((await lines.next()).value ?? '{}') as LaterArgs
    for (const folder of only) await copy.contents(latin1(folder), { isWhole: true, depth: 0 })
    for (const [path, text] of Object.entries(files)) await writeWhole(path, text)
    say({ done: copy.copied() })
  } catch (error) {
    const { code, message } = asFilesError(error)
    say({ error: code, message })
  }
  process.exit()
}

if (import.meta.main) await main(process.argv.slice(2))
