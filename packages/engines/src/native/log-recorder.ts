import { type FileHandle, open, readFile, rename, writeFile } from 'node:fs/promises'
import { orNull } from './errors.ts'
import type { LogFiles, Stream } from './log-files.ts'
import { decodeIndex, ENTRY, encodeEntry, headsOf, KEEP_ENTRIES, larger, type Sizes, withFront } from './log-index.ts'
import type { LogKeeper } from './log-retention.ts'

/** Notes when a live log grew, and has it kept within its limits. */
export interface LogRecorder {
  /** Looks at the files now. Calls never overlap; resolves to whether something was new. */
  sample(): Promise<boolean>
  /** The same for a caller that writes the files itself and knows when what came. Sizes are those of the files, times ms since 1970. */
  note(marks: readonly { readonly time: number; readonly sizes: Sizes }[]): Promise<boolean>
  /** A last look, then closes. */
  close(): Promise<void>
}

interface Recorder {
  readonly now: () => Date
  readonly logs: LogKeeper
}

/** Times are those of the files' last changes when growth was seen, so that growth without a recorder has a bounded time too. */
export async function recordLog(files: LogFiles, { now, logs }: Recorder): Promise<LogRecorder> {
  const [out, err, index] = await Promise.all([
    open(files.out, 'a+'),
    open(files.err, 'a+'),
    open(files.index, 'a+', 0o600),
  ])
  const state = new Recording(files, { stdout: out, stderr: err }, index, now)
  await state.begin()
  let last: Promise<unknown> = Promise.resolve()
  let closed = false
  let tidying: Promise<void> | null = null
  let tidiedAt = 0
  const inOrder = <T>(act: () => Promise<T>): Promise<T> => {
    const result = last.then(act, act)
    last = result
    return result
  }
  const forget = logs.recorded(files.out, {
    begin: async (front) => !closed && (await inOrder(() => state.beginAt(front)).then(() => true)),
    empty: async (stream) => {
      if (!closed) await inOrder(() => state.empty(stream))
    },
  })
  const look = (act: () => Promise<boolean>): Promise<boolean> => {
    if (closed) return Promise.resolve(false)
    return inOrder(async () => {
      const grown = await act()
      // Not waited for: it asks for its turn itself when it has something to write.
      if (!closed && state.written() - tidiedAt >= logs.slack && tidying === null) {
        tidiedAt = state.written()
        tidying = logs
          .tidy(files.directory)
          .catch(() => undefined)
          .finally(() => {
            tidying = null
          })
      }
      return grown
    })
  }
  const sample = () => look(() => state.sample())
  return {
    sample,
    note: (marks) => look(() => state.noteAll(marks)),
    async close() {
      if (closed) return
      await sample().catch(() => false)
      while (tidying !== null) await tidying
      closed = true
      await last.catch(() => undefined)
      await state.close()
      forget()
    },
  }
}

class Recording {
  readonly #files: LogFiles
  readonly #streams: Readonly<Record<Stream, FileHandle>>
  readonly #now: () => Date
  #index: FileHandle
  #entries = 0
  #base: Sizes = { out: 0, err: 0 }
  #front: Sizes = { out: 0, err: 0 }
  #seen: Sizes = { out: 0, err: 0 }
  #time = 0

  constructor(files: LogFiles, streams: Readonly<Record<Stream, FileHandle>>, index: FileHandle, now: () => Date) {
    this.#files = files
    this.#streams = streams
    this.#index = index
    this.#now = now
  }

  async begin(): Promise<void> {
    const bytes = await this.#index.readFile()
    const whole = bytes.length - (bytes.length % ENTRY)
    if (whole < bytes.length) await this.#index.truncate(whole)
    this.#entries = whole / ENTRY
    const known = decodeIndex(bytes)
    this.#base = known.base
    this.#front = known.front
    this.#seen = known.seen
    this.#time = known.last
    if (this.#entries === 0) await this.#append(0, this.#base)
  }

  /** Bytes that were ever written and noted. */
  written(): number {
    return this.#seen.out + this.#seen.err
  }

  async sample(): Promise<boolean> {
    const [out, err] = await Promise.all([this.#streams.stdout.stat(), this.#streams.stderr.stat()])
    await this.#noticeLostDrop({ out: out.size, err: err.size })
    const sizes = { out: this.#base.out + out.size, err: this.#base.err + err.size }
    const grown = sizes.out > this.#seen.out || sizes.err > this.#seen.err
    const inOrder = [
      { time: out.mtimeMs, sizes: { out: sizes.out, err: this.#seen.err } },
      { time: err.mtimeMs, sizes: { out: this.#seen.out, err: sizes.err } },
    ].sort((a, b) => a.time - b.time)
    for (const seen of inOrder) await this.#note(seen.time, seen.sizes)
    if (this.#entries > KEEP_ENTRIES) await this.#thin()
    return grown
  }

  async noteAll(marks: readonly { readonly time: number; readonly sizes: Sizes }[]): Promise<boolean> {
    const before = this.#seen
    const entries = marks.flatMap(({ time, sizes }) => {
      const entry = this.#entryFor(time, { out: this.#base.out + sizes.out, err: this.#base.err + sizes.err })
      return entry === null ? [] : [entry]
    })
    if (entries.length > 0) await this.#index.appendFile(Buffer.concat(entries))
    this.#entries += entries.length
    if (this.#entries > KEEP_ENTRIES) await this.#thin()
    return this.#seen !== before
  }

  /** Nothing in front of these positions counts any more. */
  async beginAt(front: Sizes): Promise<void> {
    this.#front = larger(this.#front, front)
    this.#seen = larger(this.#seen, this.#front)
    await this.#rewrite(withFront(await this.#indexBytes(), this.#base, this.#front))
  }

  /** Programs append, so an emptied file simply goes on from its start. */
  async empty(stream: Stream): Promise<void> {
    const file = this.#streams[stream]
    const { size } = await file.stat()
    await file.truncate(0)
    const key = stream === 'stdout' ? 'out' : 'err'
    await this.#cutOff({ ...this.#base, [key]: this.#base[key] + size })
    await file.appendFile('[stackquay] This log was longer than is kept here; its older lines were dropped.\n')
  }

  /** The last entry wakes the followers of the log: an unfinished last line is shown only when its run has ended. */
  async close(): Promise<void> {
    await this.#append(this.#now().getTime(), this.#seen).catch(() => {})
    await Promise.all([this.#streams.stdout.close(), this.#streams.stderr.close(), this.#index.close()])
  }

  /** The file was emptied, but its index does not know: the process that did it was killed in between. */
  async #noticeLostDrop(now: Sizes): Promise<void> {
    const lost = {
      out: this.#base.out + now.out < this.#seen.out,
      err: this.#base.err + now.err < this.#seen.err,
    }
    if (!lost.out && !lost.err) return
    await this.#cutOff({
      out: lost.out ? this.#seen.out : this.#base.out,
      err: lost.err ? this.#seen.err : this.#base.err,
    })
  }

  /** The bytes in front of `base` are gone from the files, so that offsets begin anew. */
  async #cutOff(base: Sizes): Promise<void> {
    this.#base = base
    this.#front = larger(this.#front, base)
    this.#seen = larger(this.#seen, base)
    await this.#rewrite(withFront(await this.#indexBytes(), this.#base, this.#front))
  }

  /** Half the entries, evenly: times get coarser, nothing else. */
  async #thin(): Promise<void> {
    const bytes = await this.#indexBytes()
    const kept: Buffer[] = [encodeEntry(0, this.#base), encodeEntry(0, this.#front)]
    // The second of each two, and the last in any case: each says what was there by its time.
    const first = headsOf(bytes) * ENTRY
    for (let at = first + ENTRY; at + ENTRY <= bytes.length; at += ENTRY * 2) kept.push(bytes.subarray(at, at + ENTRY))
    if (((bytes.length - first) / ENTRY) % 2 === 1) kept.push(bytes.subarray(bytes.length - ENTRY))
    await this.#rewrite(Buffer.concat(kept))
  }

  async #indexBytes(): Promise<Buffer> {
    const bytes = (await orNull(readFile(this.#files.index))) ?? Buffer.alloc(0)
    return bytes.subarray(0, bytes.length - (bytes.length % ENTRY))
  }

  /** The time of a file's last change shows which stream came first when both grew; times never go back. */
  async #note(changed: number, sizes: Sizes): Promise<void> {
    const entry = this.#entryFor(changed, sizes)
    if (entry === null) return
    await this.#index.appendFile(entry)
    this.#entries += 1
  }

  /** Null when nothing of that is new. */
  #entryFor(time: number, { out, err }: Sizes): Buffer | null {
    const sizes = { out: Math.max(out, this.#seen.out), err: Math.max(err, this.#seen.err) }
    if (sizes.out === this.#seen.out && sizes.err === this.#seen.err) return null
    this.#time = Math.max(this.#time, Math.min(Math.floor(time), this.#now().getTime()))
    this.#seen = sizes
    return encodeEntry(this.#time, sizes)
  }

  async #append(time: number, sizes: Sizes): Promise<void> {
    await this.#index.appendFile(encodeEntry(time, sizes))
    this.#entries += 1
  }

  async #rewrite(bytes: Buffer): Promise<void> {
    const temporary = `${this.#files.index}.tmp`
    await writeFile(temporary, bytes, { mode: 0o600 })
    await rename(temporary, this.#files.index)
    await this.#index.close()
    this.#index = await open(this.#files.index, 'a+', 0o600)
    this.#entries = bytes.length / ENTRY
  }
}
