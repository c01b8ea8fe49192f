import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { orNull } from './errors.ts'
import type { LogFiles, Stream } from './log-files.ts'
import { decodeIndex, type Sizes, type TimeIndex, withFront } from './log-index.ts'
import { nextLineStart, type StreamView } from './log-lines.ts'

/** A log as its files are now. */
export interface StoredLog {
  readonly files: LogFiles
  readonly index: TimeIndex
  /** Positions of the ends. */
  readonly sizes: Sizes
  readonly lastWritten: number
  /** Space in front of the log that a hole, cut off by a crash, should have given back. */
  readonly unpunched: number
}

/** Null when it is gone. */
export async function lookAt(files: LogFiles): Promise<StoredLog | null> {
  const [out, err] = await Promise.all([orNull(stat(files.out)), orNull(stat(files.err))])
  if (out === null || err === null) return null
  const index = decodeIndex((await orNull(readFile(files.index))) ?? Buffer.alloc(0))
  const sizes = { out: index.base.out + out.size, err: index.base.err + err.size }
  const unpunched = (stats: typeof out, left: number) => Math.max(0, stats.blocks * 512 - left - 4096)
  return {
    files,
    index,
    sizes,
    lastWritten: Math.max(out.mtimeMs, err.mtimeMs),
    unpunched:
      (index.front.out > index.base.out ? unpunched(out, sizes.out - index.front.out) : 0) +
      (index.front.err > index.base.err ? unpunched(err, sizes.err - index.front.err) : 0),
  }
}

export function bytesOf({ sizes, index }: StoredLog): number {
  return Math.max(0, sizes.out - index.front.out) + Math.max(0, sizes.err - index.front.err)
}

/** Positions where lines begin, at or behind the wanted ones. */
export async function atLines({ files, index, sizes }: StoredLog, wanted: Sizes): Promise<Sizes> {
  const start = async (stream: Stream, path: string) => {
    const key = stream === 'stdout' ? 'out' : 'err'
    if (wanted[key] <= index.front[key]) return index.front[key]
    const file = await open(path, 'r')
    try {
      const view: StreamView = {
        file,
        stream,
        index,
        base: index.base[key],
        front: index.front[key],
        size: sizes[key],
        changed: 0,
        frontNow: async () => index.front[key],
      }
      return await nextLineStart(view, wanted[key])
    } finally {
      await file.close()
    }
  }
  return { out: await start('stdout', files.out), err: await start('stderr', files.err) }
}

export async function writeFront(files: LogFiles, front: Sizes): Promise<void> {
  const bytes = (await orNull(readFile(files.index))) ?? Buffer.alloc(0)
  const temporary = `${files.index}.tmp`
  await writeFile(temporary, withFront(bytes, decodeIndex(bytes).base, front), { mode: 0o600 })
  await rename(temporary, files.index)
}

/** The `.out` file goes last: it is what the log is found by. */
export async function removeLog(files: LogFiles): Promise<void> {
  for (const path of [files.index, `${files.index}.tmp`, files.err, files.out]) await rm(path, { force: true })
}
