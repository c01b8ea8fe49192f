import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The bytes of objects: files that are written once, under names of our own making, and never change. Which of them count is
 * the database's to say; one that no row names is left over from a crash, and goes.
 *
 * A name is `run-number`. Each start is a run, so names never come twice, and what belongs to an earlier run and to no row can
 * be removed while new files appear.
 */
export interface Contents {
  /** On disk for good when it answers, all but the entry of its folder: see `settle`. When `chunks` throws nothing stays. */
  write(chunks: AsyncIterable<Buffer>): Promise<Written>
  /** Makes the entries of these contents last. Before any row names them. */
  settle(names: readonly string[]): Promise<void>
  /** Keeps contents readable, removed or not, until the answer is called. */
  retain(names: readonly string[]): () => void
  /** The bytes from `start` up to and without `end` of pieces put together. They must be retained. */
  read(pieces: readonly Piece[], start: number, end: number): AsyncGenerator<Buffer>
  /** Already gone is fine. */
  remove(names: readonly string[]): void
  /** Removes what earlier runs left and nobody knows. */
  sweep(isKnown: (name: string) => boolean): Promise<number>
}

export interface Piece {
  readonly content: string
  readonly size: number
}

export interface Written {
  readonly content: string
  readonly size: number
}

const perFolder = 4096
const writeSize = 1024 * 1024
const readSize = 512 * 1024

export function openContents(data: string, run: number): Contents {
  const incoming = join(data, 'incoming')
  const root = join(data, 'contents')
  mkdirSync(root, { recursive: true, mode: 0o700 })
  // Uploads that nobody finished: no row can name them.
  rmSync(incoming, { recursive: true, force: true })
  mkdirSync(incoming, { mode: 0o700 })
  const folder = openSync(data, 'r')
  fsyncSync(folder)
  closeSync(folder)

  let count = 0
  const folders = new Map<string, Promise<unknown>>()
  const retained = new Map<string, number>()
  const doomed = new Set<string>()

  const fileOf = (name: string) => join(root, folderOf(name), name)
  const madeFolder = (folder: string) => {
    const made =
      folders.get(folder) ?? mkdir(join(root, folder), { recursive: true, mode: 0o700 }).then(() => sync(root))
    folders.set(folder, made)
    made.catch(() => folders.delete(folder))
    return made
  }
  const unlink = (name: string) => {
    rm(fileOf(name), { force: true }).catch((error: Error) =>
      console.error(`${name} was not removed: ${error.message}`),
    )
  }
  const release = (names: readonly string[]) => {
    for (const name of names) {
      const readers = (retained.get(name) ?? 1) - 1
      if (readers > 0) retained.set(name, readers)
      else {
        retained.delete(name)
        if (doomed.delete(name)) unlink(name)
      }
    }
  }

  return {
    write: async (chunks) => {
      count += 1
      const name = `${run}-${count}`
      const temporary = join(incoming, name)
      try {
        await madeFolder(folderOf(name))
        const handle = await open(temporary, 'wx', 0o600)
        let size: number
        try {
          size = await writeAll(handle, chunks)
          await handle.datasync()
        } finally {
          await handle.close()
        }
        await rename(temporary, fileOf(name))
        return { content: name, size }
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {})
        throw error
      }
    },
    settle: async (names) => {
      await Promise.all([...new Set(names.map(folderOf))].map((folder) => sync(join(root, folder))))
    },
    retain: (names) => {
      for (const name of names) retained.set(name, (retained.get(name) ?? 0) + 1)
      let held = true
      return () => {
        if (held) release(names)
        held = false
      }
    },
    read: async function* (pieces, start, end) {
      let at = 0
      for (const { content, size } of pieces) {
        const from = Math.max(start - at, 0)
        const to = Math.min(end - at, size)
        at += size
        if (from < to) {
          const stream = createReadStream(fileOf(content), { start: from, end: to - 1, highWaterMark: readSize })
          let left = to - from
          for await (const chunk of stream as AsyncIterable<Buffer>) {
            left -= chunk.length
            yield chunk
          }
          if (left > 0) throw new Error(`The content ${content} is shorter than it was.`)
        }
      }
    },
    remove: (names) => {
      for (const name of names) {
        if (retained.has(name)) doomed.add(name)
        else unlink(name)
      }
    },
    sweep: async (isKnown) => {
      let removed = 0
      for (const folder of await readdir(root)) {
        if (Number.parseInt(folder, 10) >= run) continue
        for (const name of await readdir(join(root, folder))) {
          if (isKnown(name) || retained.has(name)) continue
          await rm(fileOf(name), { force: true })
          removed += 1
        }
        await rmdir(join(root, folder)).catch(() => {})
      }
      return removed
    },
  }
}

function folderOf(name: string): string {
  const [run = '', count = ''] = name.split('-')
  return `${run}-${Math.floor(Number(count) / perFolder)}`
}

/** Hashing what comes next goes on while the last megabyte is being written; the network waits for both. */
async function writeAll(handle: FileHandle, chunks: AsyncIterable<Buffer>): Promise<number> {
  let size = 0
  let waiting: Buffer[] = []
  let waitingSize = 0
  let writing: Promise<unknown> = Promise.resolve()
  const flush = async () => {
    await writing
    writing = writeWhole(handle, waiting)
    // Who reads next may throw first; the failure is found at the next `await writing` all the same.
    writing.catch(() => {})
    waiting = []
    waitingSize = 0
  }
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      waitingSize += chunk.length
      waiting.push(chunk)
      if (waitingSize >= writeSize || waiting.length >= 512) await flush()
    }
    if (waitingSize > 0) await flush()
  } finally {
    // Never close a file under a write.
    await writing.catch(() => {})
  }
  await writing
  return size
}

async function writeWhole(handle: FileHandle, blocks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await handle.writev(blocks)
  const rest = blocks.reduce((sum, block) => sum + block.length, -bytesWritten)
  // A disk that is nearly full takes a part of it, and says so to who writes the rest.
  if (rest > 0) await handle.writeFile(Buffer.concat(blocks).subarray(bytesWritten))
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
