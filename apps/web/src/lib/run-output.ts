import type { LogEntry } from './log-buffer.ts'

type Stream = LogEntry['stream']

export interface OutputChunk {
  readonly stream: Stream
  /** When it was printed, ms since 1970. */
  readonly time: number
  readonly text: string
}

/** Above this the oldest tenth goes; the download has all of it. */
export const maxOutputLines = 200_000
/** A program that never ends its line must not make one line of everything. */
const maxLineLength = 20_000

/**
 * What a run printed, as lines. A carriage return begins the line again, as it does in a terminal: of a progress bar
 * only its last state is shown. Each stream has its own unfinished line, so that the two never mix within one.
 */
export class RunOutput {
  #lines: LogEntry[] = []
  #dropped = 0
  #count = 0
  readonly #open: Record<Stream, { at: number; restart: boolean } | null> = { stdout: null, stderr: null }
  readonly #limit: number

  constructor(limit = maxOutputLines) {
    this.#limit = limit
  }

  get lines(): readonly LogEntry[] {
    return this.#lines
  }
  /** How many old lines are no longer held. */
  get dropped(): number {
    return this.#dropped
  }

  append({ stream, time, text }: OutputChunk): void {
    const parts = text.split('\n')
    for (const [index, part] of parts.entries()) {
      const last = index === parts.length - 1
      if (part !== '' || !last) this.#write(stream, time, part)
      if (!last) this.#open[stream] = null
    }
    if (this.#lines.length > this.#limit) this.#drop()
  }

  clear(): void {
    this.#lines = []
    this.#dropped = 0
    this.#open.stdout = null
    this.#open.stderr = null
  }

  #write(stream: Stream, time: number, text: string): void {
    const open = this.#open[stream]
    const before = open === null ? undefined : this.#lines[open.at]
    if (open === null || before === undefined || before.text.length > maxLineLength) {
      const { line, restart } = returned('', text)
      this.#open[stream] = { at: this.#lines.length, restart }
      this.#count += 1
      const cursor = String(this.#count)
      this.#lines.push({ workload: '', time: new Date(time).toISOString(), stream, text: line, cursor })
      return
    }
    // A line feed alone ends the line and leaves what stands in it.
    if (text === '') return
    const { line, restart } = returned(open.restart ? '' : before.text, text)
    this.#lines[open.at] = { ...before, text: line }
    this.#open[stream] = { at: open.at, restart }
  }

  #drop(): void {
    const excess = this.#lines.length - this.#limit + Math.floor(this.#limit / 10)
    this.#dropped += excess
    this.#lines = this.#lines.slice(excess)
    for (const stream of ['stdout', 'stderr'] as const) {
      const open = this.#open[stream]
      if (open !== null) this.#open[stream] = open.at < excess ? null : { ...open, at: open.at - excess }
    }
  }
}

/** The line after `text` was added; a carriage return at the very end takes effect with what follows it. */
function returned(held: string, text: string): { readonly line: string; readonly restart: boolean } {
  if (!text.includes('\r')) return { line: held + text, restart: false }
  const restart = text.endsWith('\r')
  const parts = (held + text).split('\r').filter((part) => part !== '')
  return { line: parts.at(-1) ?? '', restart }
}
