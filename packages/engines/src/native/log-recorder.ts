import { type FileHandle, open, readFile, rename, writeFile } from 'node:fs/promises'
import { orNull } from './errors.ts'
import type { LogFiles, Stream } from './log-files.ts'
import { decodeIndex, ENTRY, encodeEntry, KEEP_ENTRIES, KEEP_STREAM_BYTES, type Sizes } from './log-index.ts'

/** Notes when a live log grew, and keeps it within its bounds. */
export interface LogRecorder {
  /** Looks at the files now. Calls never overlap; resolves to whether something was new. */
  sample(): Promise<boolean>
  /** A last look, then closes. */
  close(): Promise<void>
}

/** Times are those of the files' last changes when growth was seen, so that what grew while nobody recorded has a bounded time too. */
export async function recordLog(files: LogFiles, now: () => Date): Promise<LogRecorder> {
  const [out, err, index] = await Promise.all([
    open(files.out, 'a+'),
    open(files.err, 'a+'),
    open(files.index, 'a+', 0o600),
  ])
  const state = new Recording(files, { stdout: out, stderr: err }, index, now)
  await state.begin()
  let last: Promise<boolean> = Promise.resolve(false)
  let closed = false
  const sample = (): Promise<boolean> => {
    if (closed) return last
    last = last.then(
      () => state.sample(),
      () => state.sample(),
    )
    return last
  }
  return {
    sample,
    async close() {
      if (closed) return
      const final = sample()
      closed = true
      await final.catch(() => false)
      await state.close()
    },
  }
}

class Recording {
  readonly #files: LogFiles
  readonly #streams: Readonly<Record<Stream, FileHandle>>
  readonly #now: () => Date
  #index: FileHandle
  #entries = 0
  #dropped: Sizes = { out: 0, err: 0 }
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
    this.#dropped = known.dropped
    this.#seen = known.seen
    if (this.#entries === 0) await this.#append(0, this.#dropped)
  }

  async sample(): Promise<boolean> {
    const [out, err] = await Promise.all([this.#streams.stdout.stat(), this.#streams.stderr.stat()])
    await this.#noticeLostDrop({ out: out.size, err: err.size })
    const sizes = { out: this.#dropped.out + out.size, err: this.#dropped.err + err.size }
    const grown = sizes.out > this.#seen.out || sizes.err > this.#seen.err
    const inOrder = [
      { time: out.mtimeMs, sizes: { out: sizes.out, err: this.#seen.err } },
      { time: err.mtimeMs, sizes: { out: this.#seen.out, err: sizes.err } },
    ].sort((a, b) => a.time - b.time)
    for (const seen of inOrder) await this.#note(seen.time, seen.sizes)
    if (out.size > KEEP_STREAM_BYTES) await this.#drop('stdout')
    if (err.size > KEEP_STREAM_BYTES) await this.#drop('stderr')
    if (this.#entries > KEEP_ENTRIES) await this.#thin()
    return grown
  }

  /** The last entry wakes whoever follows the log: an unfinished last line is shown only when its run has ended. */
  async close(): Promise<void> {
    await this.#append(this.#now().getTime(), this.#seen).catch(() => {})
    await Promise.all([this.#streams.stdout.close(), this.#streams.stderr.close(), this.#index.close()])
  }

  /** Programs append, so an emptied file simply goes on from its start. */
  async #drop(stream: Stream): Promise<void> {
    const file = this.#streams[stream]
    const { size } = await file.stat()
    await file.truncate(0)
    const key = stream === 'stdout' ? 'out' : 'err'
    this.#dropped = { ...this.#dropped, [key]: this.#dropped[key] + size }
    this.#seen = { ...this.#seen, [key]: this.#dropped[key] }
    await this.#rewrite(Buffer.concat([encodeEntry(0, this.#dropped), encodeEntry(this.#now().getTime(), this.#seen)]))
    await file.appendFile(
      `[stackquay] This log was longer than ${KEEP_STREAM_BYTES / 1024 / 1024} MB; its older lines were dropped.\n`,
    )
  }

  /** The file was emptied, but its index does not know: whoever did it was killed in between. */
  async #noticeLostDrop(now: Sizes): Promise<void> {
    const lost = {
      out: this.#dropped.out + now.out < this.#seen.out,
      err: this.#dropped.err + now.err < this.#seen.err,
    }
    if (!lost.out && !lost.err) return
    this.#dropped = {
      out: lost.out ? this.#seen.out : this.#dropped.out,
      err: lost.err ? this.#seen.err : this.#dropped.err,
    }
    await this.#rewrite(Buffer.concat([encodeEntry(0, this.#dropped), encodeEntry(this.#now().getTime(), this.#seen)]))
  }

  /** Half the entries, evenly: times get coarser, nothing else. */
  async #thin(): Promise<void> {
    const bytes = (await orNull(readFile(this.#files.index))) ?? Buffer.alloc(0)
    const kept: Buffer[] = [encodeEntry(0, this.#dropped)]
    for (let at = ENTRY * 2; at + ENTRY <= bytes.length; at += ENTRY * 2) kept.push(bytes.subarray(at, at + ENTRY))
    await this.#rewrite(Buffer.concat(kept))
  }

  /** The time of a file's last change tells which stream came first when both grew; times never go back. */
  async #note(changed: number, { out, err }: Sizes): Promise<void> {
    const sizes = { out: Math.max(out, this.#seen.out), err: Math.max(err, this.#seen.err) }
    if (sizes.out === this.#seen.out && sizes.err === this.#seen.err) return
    this.#time = Math.max(this.#time, Math.min(Math.floor(changed), this.#now().getTime()))
    await this.#append(this.#time, sizes)
    this.#seen = sizes
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
