/*
 * The history of what workloads use and of what projects are asked. A point is a row of whole numbers, in the order of `metricColumns`;
 * the points of one workload, and those of one project as a whole, are a series.
 */

/** How a column of several points becomes that of one. */
const columns = {
  /** Ten-thousandths of a core. */
  cpu: 'mean',
  cpuMax: 'max',
  /** Bytes, as all below but the last three. */
  memory: 'mean',
  memoryMax: 'max',
  read: 'sum',
  written: 'sum',
  received: 'sum',
  sent: 'sum',
  requests: 'sum',
  /** Those of the requests that were answered with 5xx. */
  errors: 'sum',
  /** What the requests took in all, in milliseconds. */
  duration: 'sum',
} as const

export type MetricColumn = keyof typeof columns
export const metricColumns = Object.keys(columns) as readonly MetricColumn[]
export const cpuUnits = 10_000

export type MetricValues = readonly (number | null)[]
export interface MetricPoint {
  /** Seconds since 1970: where it begins, a multiple of its step. */
  readonly time: number
  readonly values: MetricValues
}

/**
 * What is kept: points of so many seconds, for so long, made from those of a shorter step. Of a block all points lie in one row, so that a
 * year is read in few.
 */
export const metricSteps = [
  { step: 60, block: 3_600, kept: 86_400, from: null },
  { step: 300, block: 86_400, kept: 7 * 86_400, from: 60 },
  { step: 3_600, block: 7 * 86_400, kept: 366 * 86_400, from: 60 },
  { step: 21_600, block: 28 * 86_400, kept: 366 * 86_400, from: 3_600 },
] as const
export type MetricStep = (typeof metricSteps)[number]['step']

/** What can be asked for: the whole, and the step of its points. */
export const metricRanges = {
  '1h': { whole: 3_600, step: 60 },
  '24h': { whole: 86_400, step: 60 },
  '7d': { whole: 7 * 86_400, step: 300 },
  '30d': { whole: 30 * 86_400, step: 3_600 },
  '1y': { whole: 365 * 86_400, step: 21_600 },
} as const
export type MetricRange = keyof typeof metricRanges

/** Points of a longer step. Of a step of which nothing is known there is no point. */
export function rollUp(points: readonly MetricPoint[], step: number): readonly MetricPoint[] {
  const groups = Map.groupBy(points, ({ time }) => time - (time % step))
  return [...groups]
    .map(([time, group]) => ({ time, values: group.length === 1 ? withMaxima(group[0]!.values) : joined(group) }))
    .sort((one, other) => one.time - other.time)
}

const kinds = Object.values(columns)
const meanOf: Readonly<Record<number, number>> = {
  [metricColumns.indexOf('cpuMax')]: metricColumns.indexOf('cpu'),
  [metricColumns.indexOf('memoryMax')]: metricColumns.indexOf('memory'),
}

/** A point of the shortest step is its own maximum, and does not say so. */
function withMaxima(values: MetricValues): MetricValues {
  return values.map((value, index) => value ?? values[meanOf[index] ?? index] ?? null)
}

function joined(group: readonly MetricPoint[]): MetricValues {
  return kinds.map((kind, index) => {
    let [sum, most, known] = [0, 0, 0]
    for (const { values } of group) {
      const value = values[index] ?? values[meanOf[index] ?? index] ?? null
      if (value === null) continue
      sum += value
      most = Math.max(most, value)
      known += 1
    }
    if (known === 0) return null
    return kind === 'sum' ? sum : kind === 'max' ? most : Math.round(sum / known)
  })
}

/** Later points take the place of earlier ones of the same time: a clock that went back writes over what it wrote. */
export function mergePoints(before: readonly MetricPoint[], after: readonly MetricPoint[]): readonly MetricPoint[] {
  const merged = new Map([...before, ...after].map((point) => [point.time, point]))
  return [...merged.values()].sort((one, other) => one.time - other.time)
}

/** What a run used up to a moment; the fields are those of engines. */
export interface UsageReading {
  readonly run: string
  readonly cpuSeconds: number
  readonly memoryBytes: number
  readonly readBytes: number | null
  readonly writtenBytes: number | null
  readonly receivedBytes: number | null
  readonly sentBytes: number | null
}

/**
 * What was used between two readings. Without one before there is only memory. A run that began in between has used all that it counts;
 * so has one whose counters fell.
 */
export function usageBetween(before: UsageReading | null, now: UsageReading, seconds: number): MetricValues {
  const isNew = before !== null && before.run !== now.run
  const grown = (name: 'cpuSeconds' | 'readBytes' | 'writtenBytes' | 'receivedBytes' | 'sentBytes') => {
    const value = now[name]
    if (value === null || before === null) return null
    return growth(isNew ? 0 : (before[name] ?? value), value)
  }
  const spent = grown('cpuSeconds')
  const cpu = spent === null || seconds <= 0 ? null : Math.round((spent / seconds) * cpuUnits)
  const bytes = [grown('readBytes'), grown('writtenBytes'), grown('receivedBytes'), grown('sentBytes')]
  return [cpu, null, now.memoryBytes, null, ...bytes, null, null, null]
}

/** What the proxy counted of a project; the classes are those of statuses, 1xx to 5xx. */
export interface RequestCounts {
  readonly classes: readonly number[]
  readonly seconds: number
}

/** Null where nothing was before to compare with. */
export function requestsBetween(before: RequestCounts | null, now: RequestCounts): MetricValues | null {
  if (before === null) return null
  const [first, last] = [sum(before.classes), sum(now.classes)]
  const isNew = last < first
  const errors = growth(isNew ? 0 : (before.classes[4] ?? 0), now.classes[4] ?? 0)
  const duration = Math.round(1000 * growth(isNew ? 0 : before.seconds, now.seconds))
  return [...nothing, growth(isNew ? 0 : first, last), errors, duration]
}

const nothing = [null, null, null, null, null, null, null, null] as const

/** A counter that fell began anew. */
function growth(before: number, now: number): number {
  return now < before ? now : now - before
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
