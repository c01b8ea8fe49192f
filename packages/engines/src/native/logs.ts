import { mkdir } from 'node:fs/promises'
import type { LogBatch, LogOptions, WorkloadRef } from '@stackquay/engine-api'
import { watchDirectory } from './directory-watch.ts'
import { logsDir } from './home.ts'
import { beginOf, logFiles, logsOf } from './log-files.ts'
import { nextLineStart } from './log-lines.ts'
import { mergeLog, placeBehind } from './log-merge.ts'
import { type OpenLog, openLog } from './log-open.ts'
import { firstPlace, laterPlace, type Place, parsePlace } from './log-place.ts'
import { tailPlace } from './log-tail.ts'
import type { Machine } from './machine.ts'

/**
 * Batches of lines, oldest first, over all runs that still have logs. `isLive` says whether a log may still grow. While
 * following, an empty batch says that this is all for now.
 */
export async function* logBatches(
  machine: Pick<Machine, 'home'> & { readonly onlyIndexed?: boolean },
  ref: WorkloadRef,
  options: LogOptions,
  isLive: (log: string) => Promise<boolean>,
  signal: AbortSignal,
): AsyncGenerator<LogBatch> {
  const directory = logsDir(machine.home, ref)
  const isFollowing = options.follow === true
  if (isFollowing) await mkdir(directory, { recursive: true, mode: 0o700 })
  const news = isFollowing ? changes(directory) : null
  const shelf = createShelf((log) => openLog(logFiles(machine, ref, log), machine))
  const until = timeOf(options.until)
  try {
    const end = parsePlace(options.upTo) ?? (until === null ? null : await placeAt(directory, shelf, until, 'through'))
    let place = await startingPlace(directory, ref, shelf, options, end)
    for (;;) {
      const seen = news?.count() ?? 0
      const logs = (await logsOf(directory)).filter((log) => log >= place.log && (end === null || log <= end.log))
      for (const log of logs) {
        const live = await isLive(log)
        const open = await shelf.open(log)
        if (open === null) continue
        const from = log === place.log ? place : { log, out: 0, err: 0 }
        const limit = end !== null && log === end.log ? end : null
        for await (const batch of mergeLog(ref, open, { from, end: limit, partial: !live || limit !== null })) {
          if (signal.aborted) return
          place = placeBehind(batch.columns)
          yield batch
        }
        if (signal.aborted) return
        if (live) break
      }
      if (news === null) return
      yield { lines: [], columns: null }
      await news.after(seen, signal)
      if (signal.aborted) return
    }
  } finally {
    news?.close()
    await shelf.close()
  }
}

async function startingPlace(
  directory: string,
  ref: WorkloadRef,
  shelf: Shelf,
  options: LogOptions,
  end: Place | null,
): Promise<Place> {
  const since = timeOf(options.since)
  const earliest = laterPlace(
    parsePlace(options.after) ?? firstPlace,
    since === null ? firstPlace : await placeAt(directory, shelf, since, 'before'),
  )
  if (options.tail === undefined) return earliest
  return laterPlace(earliest, await tailPlace(directory, ref, shelf.open, options.tail, end))
}

/**
 * Found by the index, without reading lines. `before`: everything from this place on, and nothing else, is of this time or
 * later. `through`: everything up to it is of this time or earlier.
 */
async function placeAt(directory: string, shelf: Shelf, time: number, side: 'before' | 'through'): Promise<Place> {
  const moment = side === 'before' ? time : time + 1
  const logs = (await logsOf(directory)).filter((log) => beginOf(log) <= moment)
  // A log's id is when it began, or a little later when two began at once; the last one that began by then has the place.
  for (const log of logs.toReversed()) {
    const open = await shelf.open(log)
    if (open === null) continue
    const { stdout, stderr } = await open.look()
    const sizes = stdout.index.before(moment)
    // Lines without an entry were written by the time of the last change at the latest.
    const isUnseen = Math.max(stdout.changed, stderr.changed) < moment
    const out = isUnseen ? stdout.size : await nextLineStart(stdout, sizes.out)
    const err = isUnseen ? stderr.size : await nextLineStart(stderr, sizes.err)
    return { log, out, err }
  }
  return firstPlace
}

/** Logs stay open for as long as a reader has one of the newest. */
interface Shelf {
  open(log: string): Promise<OpenLog | null>
  close(): Promise<void>
}

function createShelf(make: (log: string) => Promise<OpenLog | null>): Shelf {
  let held: OpenLog | null = null
  return {
    async open(log) {
      if (held?.log === log) return held
      const made = await make(log)
      if (made === null) return null
      await held?.close()
      held = made
      return made
    },
    async close() {
      await held?.close()
      held = null
    },
  }
}

function timeOf(text: string | undefined): number | null {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? null : time
}

/** Counts changes of a directory, so that none is missed between looking and waiting. */
function changes(directory: string) {
  let count = 0
  let waiting: (() => void) | undefined
  const notice = () => {
    count += 1
    waiting?.()
  }
  const resolveNow = () => waiting?.()
  const watch = watchDirectory(directory, 8, notice)
  return {
    count: () => count,
    close: () => watch.close(),
    async after(seen: number, signal: AbortSignal): Promise<void> {
      if (count > seen || signal.aborted) return
      await new Promise<void>((resolve) => {
        waiting = resolve
        signal.addEventListener('abort', resolveNow, { once: true })
      })
      signal.removeEventListener('abort', resolveNow)
      waiting = undefined
    },
  }
}
