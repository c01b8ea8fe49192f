import { createHistogram, type Histogram, type SparseHistogram } from './histogram.ts'

/** One minute of one project, or several added up. */
export interface Counts {
  requests: number
  bytes: number
  /** 1xx to 5xx. */
  readonly classes: [number, number, number, number, number]
  readonly times: Histogram
}

export function createCounts(): Counts {
  return { requests: 0, bytes: 0, classes: [0, 0, 0, 0, 0], times: createHistogram() }
}

/** The minutes of one project that are not on disk yet. */
export interface Minutes {
  /** One request: milliseconds since 1970, status, seconds, bytes. */
  count(time: number, status: number, seconds: number, bytes: number): void
  /** What is counted since the last time it was taken; a minute may be taken in several parts, which add up. */
  take(before: number): readonly (readonly [minute: number, counts: Counts])[]
  /** Whether there is anything to take. */
  hasBefore(minute: number): boolean
  readonly waiting: ReadonlyMap<number, Counts>
}

export function createMinutes(): Minutes {
  const waiting = new Map<number, Counts>()
  const countsAt = (minute: number): Counts => {
    let counts = waiting.get(minute)
    if (counts === undefined) {
      counts = createCounts()
      waiting.set(minute, counts)
    }
    return counts
  }

  return {
    waiting,
    count(time, status, seconds, bytes) {
      const counts = countsAt(minuteOf(time))
      counts.requests += 1
      counts.bytes += bytes
      const group = Math.floor(status / 100) - 1
      if (group >= 0 && group < 5) counts.classes[group]! += 1
      // A tunnel lives for hours; that is no time of an answer.
      if (status !== 101) counts.times.add(seconds)
    },
    hasBefore: (before) => waiting.keys().some((minute) => minute < before),
    take(before) {
      const taken = [...waiting].filter(([minute]) => minute < before)
      for (const [minute] of taken) waiting.delete(minute)
      return taken
    },
  }
}

/** Minutes since 1970. */
export function minuteOf(milliseconds: number): number {
  return Math.floor(milliseconds / 60_000)
}

/** A line of the file of a day, without its end. */
export function writeMinute(minute: number, { requests, bytes, classes, times }: Counts): string {
  return JSON.stringify([minute, requests, bytes, classes, times.sparse()])
}

/** Null for what is no whole line. */
export function readMinute(line: string): StoredMinute | null {
  try {
    const [minute, requests, bytes, classes, times] = JSON.parse(line) as [number, number, number, number[], number[]]
    const isWhole = typeof minute === 'number' && Array.isArray(classes) && Array.isArray(times)
    return isWhole ? { minute, requests, bytes, classes, times } : null
  } catch {
    return null
  }
}

export interface StoredMinute {
  readonly minute: number
  readonly requests: number
  readonly bytes: number
  readonly classes: readonly number[]
  readonly times: SparseHistogram
}

export function addMinute(to: Counts, { requests, bytes, classes, times }: Omit<StoredMinute, 'minute'>): void {
  to.requests += requests
  to.bytes += bytes
  for (const [group, count] of classes.entries()) if (group < 5) to.classes[group]! += count
  to.times.merge(times)
}
