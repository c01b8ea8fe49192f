import { plainText } from './ansi.ts'

export interface LogEntry {
  readonly workload: string
  readonly time: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  readonly cursor: string
}

export interface LogFilter {
  readonly text: string
  readonly errorsOnly: boolean
}

/** Above this many pixels browsers stop drawing tall elements; at 20 px a line this stays well below. */
export const maxLines = 500_000

/**
 * The lines a log view holds, and those of them that pass its filter. Appending costs what the new lines cost, however
 * many are there. When it is full the oldest tenth goes, so that the cost of dropping is rare.
 */
export class LogBuffer {
  #lines: LogEntry[] = []
  #shown: LogEntry[] = []
  #filter: LogFilter = { text: '', errorsOnly: false }
  #dropped = 0
  readonly #limit: number

  constructor(limit = maxLines) {
    this.#limit = limit
  }

  get lines(): readonly LogEntry[] {
    return this.#lines
  }
  get shown(): readonly LogEntry[] {
    return this.#shown
  }
  /** How many old lines are no longer held. */
  get dropped(): number {
    return this.#dropped
  }

  append(items: readonly LogEntry[]): void {
    for (const item of items) {
      this.#lines.push(item)
      if (passes(item, this.#filter)) this.#shown.push(item)
    }
    if (this.#lines.length <= this.#limit) return
    const excess = this.#lines.length - this.#limit + Math.floor(this.#limit / 10)
    this.#dropped += excess
    this.#lines = this.#lines.slice(excess)
    this.#shown = this.#lines.filter((item) => passes(item, this.#filter))
  }

  /** Puts older lines where their time says. */
  merge(items: readonly LogEntry[]): void {
    if (items.length === 0) return
    this.#lines = [...items, ...this.#lines].sort((one, other) =>
      one.time < other.time ? -1 : Number(one.time > other.time),
    )
    this.#shown = this.#lines.filter((item) => passes(item, this.#filter))
  }

  /** No room for older lines: the oldest would be the first to go. */
  get full(): boolean {
    return this.#lines.length >= this.#limit
  }

  setFilter(filter: LogFilter): void {
    this.#filter = { ...filter, text: filter.text.toLowerCase() }
    this.#shown = isOpen(this.#filter) ? [...this.#lines] : this.#lines.filter((item) => passes(item, this.#filter))
  }

  clear(): void {
    this.#lines = []
    this.#shown = []
    this.#dropped = 0
  }
}

function isOpen(filter: LogFilter): boolean {
  return filter.text === '' && !filter.errorsOnly
}

function passes(item: LogEntry, filter: LogFilter): boolean {
  if (filter.errorsOnly && item.stream !== 'stderr') return false
  return filter.text === '' || plainText(item.text).toLowerCase().includes(filter.text)
}

/** A text cut at every place where it contains `wanted`, for highlighting. */
export function cutAt(text: string, wanted: string): readonly { readonly text: string; readonly hit: boolean }[] {
  if (wanted === '') return [{ text, hit: false }]
  const parts: { text: string; hit: boolean }[] = []
  const lower = text.toLowerCase()
  const target = wanted.toLowerCase()
  let from = 0
  for (let at = lower.indexOf(target); at !== -1; at = lower.indexOf(target, from)) {
    if (at > from) parts.push({ text: text.slice(from, at), hit: false })
    parts.push({ text: text.slice(at, at + target.length), hit: true })
    from = at + target.length
  }
  if (from < text.length) parts.push({ text: text.slice(from), hit: false })
  return parts
}

export function asText(lines: readonly LogEntry[]): string {
  return lines.map((line) => `${line.time} ${line.workload} ${line.stream} ${plainText(line.text)}\n`).join('')
}
