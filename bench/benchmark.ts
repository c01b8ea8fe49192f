/** One line of the table that says whether a promise is kept. */
export interface Bar {
  readonly what: string
  readonly measured: string
  readonly bar: string
  readonly kept: boolean
}

/** First row: the heads of the columns. */
export type Table = readonly (readonly string[])[]

export interface Measured {
  readonly tables: readonly Table[]
  /** Promises of the product; what is only watched is in the tables alone. */
  readonly bars: readonly Bar[]
}

export interface Benchmark {
  readonly title: string
  /** What is measured, against what, and how; Markdown. */
  readonly about: string
  /** Quick: few rounds, to see that it works; the numbers say little. */
  measure(options: MeasureOptions): Promise<Measured>
}

export interface MeasureOptions {
  readonly quick: boolean
  /** Folder of another checkout to compare with, where a benchmark can: both are measured in alternating rounds. */
  readonly against?: string
}

export function atMost(what: string, value: number, limit: number, unit: string): Bar {
  return { what, measured: `${Math.round(value)} ${unit}`, bar: `≤ ${limit} ${unit}`, kept: value <= limit }
}

export function atLeast(what: string, ratio: number, limit: number): Bar {
  return { what, measured: `${ratio.toFixed(2)} ×`, bar: `≥ ${limit} ×`, kept: ratio >= limit }
}

export function atMostTimes(what: string, ratio: number, limit: number): Bar {
  return { what, measured: `${ratio.toFixed(2)} ×`, bar: `≤ ${limit} ×`, kept: ratio <= limit }
}
