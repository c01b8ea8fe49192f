import { type FileHandle, open } from 'node:fs/promises'
import { orNull } from './errors.ts'
import type { LogFiles, Stream } from './log-files.ts'
import { decodeIndex, ENTRY, type TimeIndex } from './log-index.ts'
import type { StreamView } from './log-lines.ts'

/** One log, open for reading. Looking again costs what is new. */
export interface OpenLog {
  readonly log: string
  /** Both streams as they are now. */
  look(): Promise<Readonly<Record<Stream, StreamView>>>
  close(): Promise<void>
}

/**
 * Null when there is no such log (any more). `onlyIndexed`: what the index does not list yet is not there yet, for logs whose
 * times are not those of their files' changes: a line would have one time now and another one a moment later.
 */
export async function openLog(files: LogFiles, { onlyIndexed = false } = {}): Promise<OpenLog | null> {
  const [out, err] = await Promise.all([orNull(open(files.out, 'r')), orNull(open(files.err, 'r'))])
  if (out === null || err === null) {
    await Promise.all([out?.close(), err?.close()])
    return null
  }
  const index = indexReader(files.index)
  return {
    log: files.log,
    async look() {
      // Sizes first: what the index knows is never less than what is read.
      const [outStat, errStat] = await Promise.all([out.stat(), err.stat()])
      const known = await index.read()
      const view = (stream: Stream, file: FileHandle, stat: typeof outStat): StreamView => {
        const key = stream === 'stdout' ? 'out' : 'err'
        return {
          file,
          stream,
          index: known,
          base: known.base[key],
          front: known.front[key],
          size: onlyIndexed ? Math.min(known.base[key] + stat.size, known.seen[key]) : known.base[key] + stat.size,
          changed: stat.mtimeMs,
          frontNow: async () => (await index.read()).front[key],
        }
      }
      return { stdout: view('stdout', out, outStat), stderr: view('stderr', err, errStat) }
    },
    async close() {
      await Promise.all([out.close(), err.close(), index.close()])
    },
  }
}

/** Reads what was added since the last time; all of it when the index was written anew. */
function indexReader(path: string) {
  let file: FileHandle | null = null
  let identity = ''
  let bytes = Buffer.alloc(0)
  let length = 0
  let known = decodeIndex(bytes)
  const renew = async (): Promise<TimeIndex> => {
    const next = await orNull(open(path, 'r'))
    if (next === null) return known
    const stat = await next.stat()
    // Of an entry that is being written only its whole counts.
    const size = stat.size - (stat.size % ENTRY)
    const { ino } = stat
    if (identity === String(ino) && size >= length) await next.close()
    else {
      await file?.close()
      file = next
      identity = String(ino)
      bytes = Buffer.alloc(size + 64 * ENTRY)
      length = 0
    }
    if (size === length) return known
    if (size > bytes.length) {
      const larger = Buffer.alloc(2 * size)
      bytes.copy(larger, 0, 0, length)
      bytes = larger
    }
    const { bytesRead } = await file!.read(bytes, length, size - length, length)
    length += bytesRead
    known = decodeIndex(bytes.subarray(0, length))
    return known
  }
  let last: Promise<TimeIndex> = Promise.resolve(known)
  return {
    read(): Promise<TimeIndex> {
      last = last.then(renew, renew)
      return last
    },
    async close() {
      await last.catch(() => undefined)
      await file?.close()
      file = null
    },
  }
}
