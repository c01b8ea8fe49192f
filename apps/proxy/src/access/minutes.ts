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

/** The minutes that are not on disk yet, of all projects. */
export interface Minutes {
  count(project: string, facts: readonly number[]): void
  /** What is counted since the last time it was taken; a minute may be taken in several parts, which add up. */
  take(before: number): readonly (readonly [project: string, minute: number, counts: Counts])[]
  of(project: string): ReadonlyMap<number, Counts>
  forget(project: string): void
}

/** `facts` are those of a batch. */
export function createMinutes(): Minutes {
  const projects = new Map<string, Map<number, Counts>>()
  const countsAt = (project: string, minute: number): Counts => {
    let minutes = projects.get(project)
    if (minutes === undefined) {
      minutes = new Map()
      projects.set(project, minutes)
    }
    let counts = minutes.get(minute)
    if (counts === undefined) {
      counts = createCounts()
      minutes.set(minute, counts)
    }
    return counts
  }

  return {
    count(project, facts) {
      for (let index = 0; index + 3 < facts.length; index += 4) {
        const status = facts[index + 1]!
        const counts = countsAt(project, minuteOf(facts[index]!))
        counts.requests += 1
        counts.bytes += facts[index + 3]!
        const group = Math.floor(status / 100) - 1
        if (group >= 0 && group < 5) counts.classes[group]! += 1
        // A tunnel lives for hours; that is no time of an answer.
        if (status !== 101) counts.times.add(facts[index + 2]!)
      }
    },
    take(before) {
      const taken: [string, number, Counts][] = []
      for (const [project, minutes] of projects) {
        for (const [minute, counts] of minutes) {
          if (minute >= before) continue
          taken.push([project, minute, counts])
          minutes.delete(minute)
        }
        if (minutes.size === 0) projects.delete(project)
      }
      return taken
    },
    of: (project) => projects.get(project) ?? new Map(),
    forget: (project) => void projects.delete(project),
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
