import type { Metrics, WorkloadMetrics } from '@stackquay/contract'

export const metricRanges = ['1h', '24h', '7d', '30d', '1y'] as const
export type MetricRange = (typeof metricRanges)[number]
/** What an axis says: the clock, days, or months. */
export const axisOf: Readonly<Record<MetricRange, 'clock' | 'days' | 'months'>> = {
  '1h': 'clock',
  '24h': 'clock',
  '7d': 'days',
  '30d': 'days',
  '1y': 'months',
}

type Values = readonly (number | null)[] | null

/** Seconds since 1970 where each step begins. */
export function timesOf({ from, stepSeconds, items, requests }: Metrics): readonly number[] {
  const begin = Date.parse(from) / 1000
  const lists = [...items.flatMap((item) => [item.cpu, item.memoryBytes]), requests?.requests ?? null]
  const count = Math.max(0, ...lists.map((list) => list?.length ?? 0))
  return Array.from({ length: count }, (_, index) => begin + index * stepSeconds)
}

/** As many as there are times, whether or not anything is known. */
export function filled(values: Values, count: number): readonly (number | null)[] {
  return values ?? new Array<null>(count).fill(null)
}

/** As many in a second or a minute as were counted in each step. */
export function perTime(values: Values, stepSeconds: number, seconds: number): Values {
  return values?.map((value) => (value === null ? null : (value / stepSeconds) * seconds)) ?? null
}

/** Two lists as one; what only one knows counts. */
export function added(one: Values, other: Values): Values {
  if (one === null || other === null) return one ?? other
  return one.map((value, index) => {
    const second = other[index] ?? null
    return value === null || second === null ? (value ?? second) : value + second
  })
}

export interface WorkloadFigures {
  readonly workload: string
  readonly cpu: number | null
  readonly cpuMax: number | null
  readonly memory: number | null
  readonly memoryMax: number | null
  readonly read: number | null
  readonly written: number | null
  readonly received: number | null
  readonly sent: number | null
}

/** Each workload in one line: means of what was measured, peaks, and sums. */
export function figuresOf(item: WorkloadMetrics): WorkloadFigures {
  return {
    workload: item.workload,
    cpu: mean(item.cpu),
    cpuMax: most(item.cpuMax),
    memory: mean(item.memoryBytes),
    memoryMax: most(item.memoryMaxBytes),
    read: sum(item.readBytes),
    written: sum(item.writtenBytes),
    received: sum(item.receivedBytes),
    sent: sum(item.sentBytes),
  }
}

export function sum(values: Values): number | null {
  const numbers = known(values)
  return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0)
}

function mean(values: Values): number | null {
  const total = sum(values)
  return total === null ? null : total / known(values).length
}

function most(values: Values): number | null {
  const numbers = known(values)
  return numbers.length === 0 ? null : Math.max(...numbers)
}

function known(values: Values): readonly number[] {
  return (values ?? []).filter((value) => value !== null)
}
