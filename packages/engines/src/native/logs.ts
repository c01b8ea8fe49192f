import { mkdir, open, readFile } from 'node:fs/promises'
import type { LogLine, LogOptions, WorkloadRef } from '@stackquay/engine-api'
import { watchDirectory } from './directory-watch.ts'
import { orNull } from './errors.ts'
import { logsDir } from './home.ts'
import { type LogFiles, logFiles, logsOf, type Stream } from './log-files.ts'
import { decodeIndex, type TimeIndex } from './log-index.ts'
import { type Line, type LineReader, readLines } from './log-lines.ts'
import { tailPosition } from './log-tail.ts'
import type { Machine } from './machine.ts'

/** A place in the logs of a workload: which run, and how far in both its streams. Its text is the cursor. */
export interface Place {
  readonly log: string
  readonly out: number
  readonly err: number
}

/** Batches of lines, oldest first, over all runs that still have logs. `isLive` tells whether a log may still grow. */
export async function* logBatches(
  machine: Machine,
  ref: WorkloadRef,
  options: LogOptions,
  isLive: (log: string) => Promise<boolean>,
  signal: AbortSignal,
): AsyncGenerator<readonly LogLine[]> {
  const directory = logsDir(machine.home, ref)
  if (options.follow === true) await mkdir(directory, { recursive: true, mode: 0o700 })
  const news = options.follow === true ? changes(directory) : null
  try {
    let place = await startingPlace(machine, ref, options)
    for (;;) {
      const seen = news?.count() ?? 0
      const logs = (await logsOf(directory)).filter((log) => log >= place.log)
      for (const log of logs) {
        const live = await isLive(log)
        const from = log === place.log ? place : { log, out: 0, err: 0 }
        for await (const batch of readLog(machine, ref, from, { partial: !live })) {
          if (signal.aborted) return
          place = parseCursor(batch.at(-1)?.cursor) ?? place
          yield batch
        }
        if (signal.aborted) return
        if (live) break
      }
      if (news === null) return
      await news.after(seen, signal)
      if (signal.aborted) return
    }
  } finally {
    news?.close()
  }
}

async function startingPlace(machine: Machine, ref: WorkloadRef, options: LogOptions): Promise<Place> {
  const after = parseCursor(options.after) ?? { log: '', out: 0, err: 0 }
  if (options.tail === undefined) return after
  return later(
    after,
    await tailPosition(machine, ref, options.tail, (from) => readLog(machine, ref, from, { partial: true })),
  )
}

function later(a: Place, b: Place): Place {
  if (a.log !== b.log) return a.log > b.log ? a : b
  return { log: a.log, out: Math.max(a.out, b.out), err: Math.max(a.err, b.err) }
}

/** What one log holds now, from a place on, in the order of time. */
async function* readLog(
  machine: Machine,
  ref: WorkloadRef,
  from: Place,
  { partial }: { partial: boolean },
): AsyncGenerator<readonly LogLine[]> {
  const files = logFiles(machine, ref, from.log)
  const [out, err] = await Promise.all([orNull(open(files.out, 'r')), orNull(open(files.err, 'r'))])
  try {
    if (out === null || err === null) return
    const index = await readIndex(files)
    const [outStat, errStat] = await Promise.all([out.stat(), err.stat()])
    const merge = new Merge(
      ref,
      from.log,
      index,
      partial,
      {
        stdout: {
          reader: readLines(out, 'stdout', from.out),
          until: index.dropped.out + outStat.size,
          lines: [],
          at: 0,
          done: false,
        },
        stderr: {
          reader: readLines(err, 'stderr', from.err),
          until: index.dropped.err + errStat.size,
          lines: [],
          at: 0,
          done: false,
        },
      },
      { out: from.out, err: from.err },
    )
    for (;;) {
      const batch = await merge.next()
      if (batch.length === 0) return
      yield batch
    }
  } finally {
    await Promise.all([out?.close(), err?.close()])
  }
}

export async function readIndex(files: LogFiles): Promise<TimeIndex> {
  return decodeIndex((await orNull(readFile(files.index))) ?? Buffer.alloc(0))
}

interface Source {
  readonly reader: LineReader
  readonly until: number
  lines: readonly Line[]
  at: number
  done: boolean
}

/** Takes lines from both streams by their time; of equal times, stdout's first. */
class Merge {
  readonly #ref: WorkloadRef
  readonly #log: string
  readonly #index: TimeIndex
  readonly #partial: boolean
  readonly #sources: Readonly<Record<Stream, Source>>
  #out: number
  #err: number
  #time = -1
  #timeText = ''

  constructor(
    ref: WorkloadRef,
    log: string,
    index: TimeIndex,
    partial: boolean,
    sources: Readonly<Record<Stream, Source>>,
    from: { out: number; err: number },
  ) {
    this.#ref = ref
    this.#log = log
    this.#index = index
    this.#partial = partial
    this.#sources = sources
    this.#out = from.out
    this.#err = from.err
  }

  async next(): Promise<LogLine[]> {
    const { stdout, stderr } = this.#sources
    await Promise.all([this.#fill(stdout), this.#fill(stderr)])
    const batch: LogLine[] = []
    for (;;) {
      const a = stdout.lines[stdout.at]
      const b = stderr.lines[stderr.at]
      if ((a === undefined && !stdout.done) || (b === undefined && !stderr.done)) return batch
      if (a !== undefined && (b === undefined || a.time <= b.time)) {
        stdout.at += 1
        this.#out = a.end
        batch.push(this.#line('stdout', a))
      } else if (b !== undefined) {
        stderr.at += 1
        this.#err = b.end
        batch.push(this.#line('stderr', b))
      } else return batch
    }
  }

  async #fill(source: Source): Promise<void> {
    if (source.done || source.at < source.lines.length) return
    const lines = await source.reader.next(source.until, this.#index, this.#partial)
    source.at = 0
    source.lines = lines ?? []
    source.done = lines === null
  }

  #line(stream: Stream, line: Line): LogLine {
    if (line.time !== this.#time) {
      this.#time = line.time
      this.#timeText = new Date(line.time).toISOString()
    }
    return {
      ref: this.#ref,
      time: this.#timeText,
      stream,
      text: line.text,
      cursor: `${this.#log}.${this.#out}.${this.#err}`,
    }
  }
}

function parseCursor(cursor: string | undefined): Place | null {
  const parts = /^([0-9a-z]{9})\.(\d{1,13})\.(\d{1,13})$/.exec(cursor ?? '')
  return parts === null ? null : { log: parts[1] ?? '', out: Number(parts[2]), err: Number(parts[3]) }
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
