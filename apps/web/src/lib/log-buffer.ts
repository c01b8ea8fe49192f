export interface LogEntry {
  readonly workload: string
  readonly time: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
  readonly cursor: string
}

/** What the view leaves out by itself; everything else is searched for by the service. */
export interface LogFilter {
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
  #filter: LogFilter = { errorsOnly: false }
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
    this.#filter = filter
    this.#shown = this.#lines.filter((item) => passes(item, filter))
  }

  clear(): void {
    this.#lines = []
    this.#shown = []
    this.#dropped = 0
  }
}

function passes(item: LogEntry, filter: LogFilter): boolean {
  return !filter.errorsOnly || item.stream === 'stderr'
}
