import { beginOf, logFilesIn, logsOf, type Stream } from './log-files.ts'
import type { PunchHole } from './log-hole.ts'
import { larger, type Sizes } from './log-index.ts'
import { atLines, bytesOf, lookAt, removeLog, type StoredLog, writeFront } from './stored-log.ts'

/** What a workload's logs may hold, all its runs together. */
export interface LogLimits {
  readonly maxBytes: number
  readonly maxDays: number
}

/** A log that grows: only its recorder writes its index. */
export interface RecordedLog {
  /** Notes that a log begins further behind from now on. False when it is not recorded any more. */
  begin(front: Sizes): Promise<boolean>
  /** Where nothing but all can be dropped. */
  empty(stream: Stream): Promise<void>
}

export interface Retention {
  readonly limits: LogLimits
  /** By the path of the log's `.out` file. */
  readonly recorders: ReadonlyMap<string, RecordedLog>
  /** Bytes that may be dropped ahead of need. */
  readonly slack: number
  readonly punch: PunchHole
  now(): Date
}

/** A program that crashes again and again makes many short logs. */
export const KEEP_RUNS = 200
const DAY_MS = 24 * 60 * 60 * 1000

/** Drops what the logs of one workload hold beyond their limits: the oldest lines. */
export async function tidyLogs(retention: Retention, directory: string): Promise<void> {
  const { limits, recorders, slack, now } = retention
  const names = await logsOf(directory)
  const kept: StoredLog[] = []
  for (const [at, log] of names.entries()) {
    const files = logFilesIn(directory, log)
    const isLive = recorders.has(files.out)
    const stored = await lookAt(files)
    if (stored === null) continue
    const oldest = now().getTime() - limits.maxDays * DAY_MS
    if (!isLive && (stored.lastWritten < oldest || at < names.length - KEEP_RUNS)) await removeLog(files)
    // A line of the first days may be among those of a program that has run for weeks.
    else if (beginOf(log) < oldest) kept.push(await dropTo(retention, stored, stored.index.before(oldest)))
    else kept.push(await dropTo(retention, stored, stored.index.front))
  }
  let excess = kept.reduce((sum, stored) => sum + bytesOf(stored), 0) - limits.maxBytes
  // A little more than needed, so that it need not be done again for the next line.
  if (excess > 0) excess += slack
  for (const stored of kept) {
    if (excess <= 0) return
    const bytes = bytesOf(stored)
    if (bytes <= excess && !recorders.has(stored.files.out)) await removeLog(stored.files)
    else await dropTo(retention, stored, stored.index.newest(bytes - excess, stored.sizes))
    excess -= bytes
  }
}

/** Writes down where the log begins, then makes the hole: a reader that meets the hole finds out where it ends. */
async function dropTo(retention: Retention, stored: StoredLog, wanted: Sizes): Promise<StoredLog> {
  const { limits, recorders, slack, punch } = retention
  const { files, index } = stored
  const target = larger(index.front, wanted)
  const isFurther = target.out > index.front.out || target.err > index.front.err
  const front = isFurther ? await atLines(stored, target) : index.front
  const mustDrop = front.out > index.front.out || front.err > index.front.err
  if (!mustDrop && stored.unpunched < slack) return stored
  if (mustDrop) {
    const isNoted = (await recorders.get(files.out)?.begin(front)) === true
    if (!isNoted) await writeFront(files, front)
  }
  const next = { ...stored, index: { ...index, front } }
  const isOut = await punchFront(punch, files.out, front.out - index.base.out)
  const isErr = await punchFront(punch, files.err, front.err - index.base.err)
  if (isOut && isErr) return next
  return stored.unpunched + bytesOf(stored) - bytesOf(next) > limits.maxBytes ? withoutHoles(recorders, next) : next
}

async function punchFront(punch: PunchHole, path: string, bytes: number): Promise<boolean> {
  return bytes <= 0 || punch(path, bytes)
}

/**
 * Where holes cannot be made, what is dropped goes on taking space. Once that is as much again as may be kept, all goes:
 * of a run that ended everything, of one that goes on the stream that wasted more.
 */
async function withoutHoles(recorders: Retention['recorders'], stored: StoredLog): Promise<StoredLog> {
  const { files, index, sizes } = stored
  const recorder = recorders.get(files.out)
  if (recorder === undefined) await removeLog(files)
  else await recorder.empty(index.front.out - index.base.out >= index.front.err - index.base.err ? 'stdout' : 'stderr')
  return { ...stored, index: { ...index, front: sizes } }
}
