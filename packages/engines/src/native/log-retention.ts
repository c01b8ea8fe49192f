import { open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { orNull } from './errors.ts'
import { beginOf, type LogFiles, logFilesIn, logsOf, type Stream } from './log-files.ts'
import { type PunchHole, punchHole } from './log-hole.ts'
import { decodeIndex, larger, type Sizes, type TimeIndex, withFront } from './log-index.ts'
import { nextLineStart, type StreamView } from './log-lines.ts'

/** What a workload's logs may hold, all its runs together. */
export interface LogLimits {
  readonly maxBytes: number
  readonly maxDays: number
}

export const usualLogLimits: LogLimits = { maxBytes: 256 * 1024 * 1024, maxDays: 14 }
/** A program that crashes again and again makes many short logs. */
export const KEEP_RUNS = 200
const DAY_MS = 24 * 60 * 60 * 1000

/** Keeps logs within their limits by dropping the oldest lines, never others. */
export interface LogKeeper {
  /** How much a log may grow before its recorder asks for `tidy` again. */
  readonly slack: number
  /** A log that grows: only its recorder writes its index. Answers the function that ends it. */
  recorded(path: string, recorder: RecordedLog): () => void
  /** Of one workload. Calls for the same one never overlap. */
  tidy(directory: string): Promise<void>
  /** Of all workloads, in folders of projects. */
  tidyAll(logs: string): Promise<void>
}

export interface RecordedLog {
  /** Notes that a log begins further behind from now on. False when it is not recorded any more. */
  begin(front: Sizes): Promise<boolean>
  /** Where nothing but all can be dropped. */
  empty(stream: Stream): Promise<void>
}

export function createLogKeeper(
  limits: LogLimits,
  now: () => Date,
  { punch = punchHole }: { readonly punch?: PunchHole } = {},
): LogKeeper {
  const recorders = new Map<string, RecordedLog>()
  const working = new Map<string, Promise<void>>()
  const slack = Math.max(64 * 1024, Math.min(16 * 1024 * 1024, limits.maxBytes >> 4))

  const keeper: LogKeeper = {
    slack,
    recorded(path, recorder) {
      recorders.set(path, recorder)
      return () => {
        if (recorders.get(path) === recorder) recorders.delete(path)
      }
    },
    tidy(directory) {
      const before = working.get(directory) ?? Promise.resolve()
      const work = before
        .catch(() => undefined)
        .then(() => tidyOne(directory))
        .finally(() => {
          if (working.get(directory) === work) working.delete(directory)
        })
      working.set(directory, work)
      return work
    },
    async tidyAll(logs) {
      for (const project of (await orNull(readdir(logs))) ?? []) {
        for (const workload of (await orNull(readdir(join(logs, project)))) ?? [])
          await keeper.tidy(join(logs, project, workload)).catch(() => undefined)
      }
    },
  }
  return keeper

  async function tidyOne(directory: string): Promise<void> {
    const names = await logsOf(directory)
    const kept: Held[] = []
    for (const [at, log] of names.entries()) {
      const files = logFilesIn(directory, log)
      const isLive = recorders.has(files.out)
      const held = await lookAt(files)
      if (held === null) continue
      const oldest = now().getTime() - limits.maxDays * DAY_MS
      if (!isLive && (held.lastWritten < oldest || at < names.length - KEEP_RUNS)) await removeLog(files)
      // A line of the first days may be among those of a program that has run for weeks.
      else if (beginOf(log) < oldest) kept.push(await dropTo(held, held.index.before(oldest)))
      else kept.push(await dropTo(held, held.index.front))
    }
    let excess = kept.reduce((sum, held) => sum + bytesOf(held), 0) - limits.maxBytes
    // A little more than needed, so that it need not be done again for the next line.
    if (excess > 0) excess += slack
    for (const held of kept) {
      if (excess <= 0) return
      const bytes = bytesOf(held)
      if (bytes <= excess && !recorders.has(held.files.out)) await removeLog(held.files)
      else await dropTo(held, held.index.newest(bytes - excess, held.sizes))
      excess -= bytes
    }
  }

  /** Writes down where the log begins, then makes the hole: a reader that meets the hole finds out where it ends. */
  async function dropTo(held: Held, wanted: Sizes): Promise<Held> {
    const { files, index } = held
    const target = larger(index.front, wanted)
    const isFurther = target.out > index.front.out || target.err > index.front.err
    const front = isFurther ? await atLines(held, target) : index.front
    const mustDrop = front.out > index.front.out || front.err > index.front.err
    if (!mustDrop && held.unpunched < slack) return held
    if (mustDrop) {
      const isNoted = (await recorders.get(files.out)?.begin(front)) === true
      if (!isNoted) await writeFront(files, front)
    }
    const next = { ...held, index: { ...index, front } }
    const isOut = await punchFront(files.out, front.out - index.base.out)
    const isErr = await punchFront(files.err, front.err - index.base.err)
    if (isOut && isErr) return next
    return held.unpunched + bytesOf(held) - bytesOf(next) > limits.maxBytes ? withoutHoles(next) : next
  }

  async function punchFront(path: string, bytes: number): Promise<boolean> {
    return bytes <= 0 || punch(path, bytes)
  }

  /**
   * Where holes cannot be made, what is dropped goes on taking space. Once that is as much again as may be kept, all goes:
   * of a run that ended everything, of one that goes on the stream that wasted more.
   */
  async function withoutHoles(held: Held): Promise<Held> {
    const { files, index, sizes } = held
    const recorder = recorders.get(files.out)
    if (recorder === undefined) await removeLog(files)
    else
      await recorder.empty(index.front.out - index.base.out >= index.front.err - index.base.err ? 'stdout' : 'stderr')
    return { ...held, index: { ...index, front: sizes } }
  }
}

interface Held {
  readonly files: LogFiles
  readonly index: TimeIndex
  /** Positions of the ends. */
  readonly sizes: Sizes
  readonly lastWritten: number
  /** Space in front of the log that a hole, cut off by a crash, should have given back. */
  readonly unpunched: number
}

async function lookAt(files: LogFiles): Promise<Held | null> {
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

function bytesOf({ sizes, index }: Held): number {
  return Math.max(0, sizes.out - index.front.out) + Math.max(0, sizes.err - index.front.err)
}

/** Positions where lines begin, at or behind the wanted ones. */
async function atLines({ files, index, sizes }: Held, wanted: Sizes): Promise<Sizes> {
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

async function writeFront(files: LogFiles, front: Sizes): Promise<void> {
  const bytes = (await orNull(readFile(files.index))) ?? Buffer.alloc(0)
  const temporary = `${files.index}.tmp`
  await writeFile(temporary, withFront(bytes, decodeIndex(bytes).base, front), { mode: 0o600 })
  await rename(temporary, files.index)
}

/** The `.out` file goes last: it is what the log is found by. */
async function removeLog(files: LogFiles): Promise<void> {
  for (const path of [files.index, `${files.index}.tmp`, files.err, files.out]) await rm(path, { force: true })
}
