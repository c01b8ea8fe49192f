import { randomUUID } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createRetainedContents } from './retained-contents.ts'
import { writeFileDurably } from './write-file.ts'

/**
 * The bytes of objects: files that are written once, under generated names, and never change. The database decides which of
 * them count: a file without a row is left over from a crash, and goes.
 *
 * A name is `run-number`. Each start is a run, so names never come twice, and the files of earlier runs without a row can be
 * removed while new files appear.
 */
export interface Contents {
  /** On disk when it answers, all but the entry of its folder: see `settle`. When `chunks` throws nothing stays. */
  write(chunks: AsyncIterable<Buffer>): Promise<Written>
  /** Makes the entries of these contents last. Before any row names them. */
  settle(names: readonly string[]): Promise<void>
  /** Keeps contents readable, removed or not, until the answer is called. */
  retain(names: readonly string[]): () => void
  /** The bytes from `start` up to and without `end` of the pieces together. They must be retained. */
  read(pieces: readonly Piece[], start: number, end: number): AsyncGenerator<Buffer>
  /** Where a content is, and its place in the data folder. */
  fileOf(name: string): { readonly path: string; readonly name: string }
  /** For a file that the next start removes. */
  temporaryFile(): string
  /** Already gone is fine. */
  remove(names: readonly string[]): void
  /** Removes the unknown files of earlier runs. */
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
const readSize = 512 * 1024

export function openContents(data: string, run: number): Contents {
  const incoming = join(data, 'incoming')
  const root = join(data, 'contents')
  prepareFolders(data, root, incoming)
  const fileOf = (name: string) => join(root, folderOf(name), name)
  const madeFolder = foldersIn(root)
  const { has, retain, remove } = createRetainedContents((name) => {
    rm(fileOf(name), { force: true }).catch((error: Error) =>
      console.error(`${name} was not removed: ${error.message}`),
    )
  })
  let count = 0

  return {
    write: async (chunks) => {
      count += 1
      const name = `${run}-${count}`
      const temporary = join(incoming, name)
      try {
        await madeFolder(folderOf(name))
        const size = await writeFileDurably(temporary, chunks)
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
    retain,
    fileOf: (name) => ({ path: fileOf(name), name: join('contents', folderOf(name), name) }),
    temporaryFile: () => join(incoming, randomUUID()),
    read: async function* (pieces, start, end) {
      let at = 0
      for (const { content, size } of pieces) {
        const from = Math.max(start - at, 0)
        const to = Math.min(end - at, size)
        at += size
        if (from < to) yield* bytesOf(fileOf(content), content, from, to)
      }
    },
    remove,
    sweep: async (isKnown) => {
      let removed = 0
      for (const folder of await readdir(root)) {
        if (Number.parseInt(folder, 10) >= run) continue
        for (const name of await readdir(join(root, folder))) {
          if (isKnown(name) || has(name)) continue
          await rm(fileOf(name), { force: true })
          removed += 1
        }
        await rmdir(join(root, folder)).catch(() => {})
      }
      return removed
    },
  }
}

function prepareFolders(data: string, root: string, incoming: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 })
  // Unfinished uploads: no row can name them.
  rmSync(incoming, { recursive: true, force: true })
  mkdirSync(incoming, { mode: 0o700 })
  const folder = openSync(data, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** Makes each folder once. */
function foldersIn(root: string): (folder: string) => Promise<unknown> {
  const folders = new Map<string, Promise<unknown>>()
  return (folder) => {
    const made =
      folders.get(folder) ?? mkdir(join(root, folder), { recursive: true, mode: 0o700 }).then(() => sync(root))
    folders.set(folder, made)
    made.catch(() => folders.delete(folder))
    return made
  }
}

async function* bytesOf(file: string, content: string, from: number, to: number): AsyncGenerator<Buffer> {
  const stream = createReadStream(file, { start: from, end: to - 1, highWaterMark: readSize })
  let left = to - from
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    left -= chunk.length
    yield chunk
  }
  if (left > 0) throw new Error(`The content ${content} is shorter than it was.`)
}

function folderOf(name: string): string {
  const [run = '', count = ''] = name.split('-')
  return `${run}-${Math.floor(Number(count) / perFolder)}`
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
