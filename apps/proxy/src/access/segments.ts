import { type FileHandle, open, readdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolders } from './make-folder.ts'

/** The lines of one project: numbered files, of which the last one grows and the first ones go. */
export interface Segments {
  /** All of it or, as far as it can be helped, nothing. */
  append(lines: Buffer): Promise<void>
  /** Gives the open file back; the next line opens it again. */
  close(): Promise<void>
  readonly isOpen: boolean
  /** Milliseconds since 1970. */
  readonly usedAt: number
}

/** So many files make up the space that a project may take; one of them goes at a time. */
const parts = 8

export function createSegments(folder: string, mostBytes: number, now: () => number = Date.now): Segments {
  const segmentBytes = Math.max(1, Math.floor(mostBytes / parts))
  let file: FileHandle | null = null
  let number = 0
  let size = 0
  /** The last line has no end: a process was killed in it, or the disk was full. */
  let torn = false
  let usedAt = now()
  let last: Promise<unknown> = Promise.resolve()

  const inTurn = <Result>(act: () => Promise<Result>): Promise<Result> => {
    const next = last.then(act)
    last = next.catch(() => {})
    return next
  }
  const openLast = async (): Promise<FileHandle> => {
    await makeFolders(dirname(folder), folder)
    number = (await segmentNumbers(folder)).at(-1) ?? 1
    const opened = await open(segmentPath(folder, number), 'a+', 0o600)
    size = (await opened.stat()).size
    const end = Buffer.alloc(1)
    if (size > 0) await opened.read(end, 0, 1, size - 1)
    torn = size > 0 && end[0] !== lineFeed
    file = opened
    return opened
  }
  const openNext = async (before: FileHandle): Promise<FileHandle> => {
    const next = await open(segmentPath(folder, number + 1), 'a+', 0o600)
    file = next
    number += 1
    size = 0
    torn = false
    await before.close()
    await keepNewest(folder, mostBytes - segmentBytes)
    return next
  }

  return {
    get isOpen() {
      return file !== null
    },
    get usedAt() {
      return usedAt
    },
    append: (lines) =>
      inTurn(async () => {
        usedAt = now()
        let into = file ?? (await openLast())
        const bytes = torn ? Buffer.concat([endOfLine, lines]) : lines
        if (size > 0 && size + bytes.length > segmentBytes) into = await openNext(into)
        for (let written = 0; written < bytes.length; ) {
          torn = true
          const { bytesWritten } = await into.write(bytes, written)
          written += bytesWritten
          size += bytesWritten
        }
        torn = false
      }),
    close: () =>
      inTurn(async () => {
        const closing = file
        file = null
        await closing?.close()
      }),
  }
}

const lineFeed = 0x0a
const endOfLine = Buffer.of(lineFeed)

/** Oldest first. No folder is no segments. */
export async function segmentNumbers(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .flatMap((name) => /^(\d{8})\.jsonl$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((one, other) => one - other)
}

export function segmentPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(8, '0')}.jsonl`)
}

/** The newest files that together take no more than `bytes`; the one that grows always stays. */
async function keepNewest(folder: string, bytes: number): Promise<void> {
  const [, ...older] = (await segmentNumbers(folder)).toReversed()
  let total = 0
  for (const number of older) {
    const path = segmentPath(folder, number)
    total += (await stat(path).catch(() => null))?.size ?? 0
    if (total > bytes) await unlink(path).catch(() => {})
  }
}

/** Files whose last line is older than `before`, the growing one too: without lines there is nothing to keep it for. */
export async function dropOlder(folder: string, before: number): Promise<void> {
  for (const number of await segmentNumbers(folder)) {
    const path = segmentPath(folder, number)
    const found = await stat(path).catch(() => null)
    if (found !== null && found.mtimeMs < before) await unlink(path).catch(() => {})
  }
}
