import { availableParallelism } from 'node:os'
import { cpuUnits, type MetricPoint, type RequestCounts, requestsBetween, usageBetween } from '@stackquay/domain'
import type { Reading } from '@stackquay/engine-api'
import type { SeriesName } from '@stackquay/store'
import type { ReadAll } from './readings.ts'

/** A run that was not seen for longer is forgotten: what it used meanwhile is of no minute. */
const rememberSeconds = 3_600

/** Makes points of what is read once a minute. */
export function createPoints(cores = availableParallelism()) {
  const runs = new Map<string, { readonly at: number; readonly reading: Reading }>()
  let counts: ReadonlyMap<string, RequestCounts> | null = null
  let lastAt: number | null = null

  const ofWorkload = (reading: Reading, at: number): MetricPoint['values'] => {
    const { project, workload } = reading.ref
    const known = runs.get(`${project}/${workload}`)
    runs.set(`${project}/${workload}`, { at, reading })
    // What began since the last time has used all that it counts.
    const before = known?.reading ?? (lastAt === null ? null : { ...reading, run: '' })
    const values = usageBetween(before, reading, at - (known?.at ?? lastAt ?? at))
    // More than there is: it ran before, and was not seen.
    return (values[0] ?? 0) > cores * cpuUnits * 1.1
      ? values.map((value, index) => (index === 2 ? value : null))
      : values
  }

  return (read: ReadAll, time: number): readonly (SeriesName & MetricPoint)[] => {
    const { at, workloads, requests } = read
    const points = workloads.map((reading) => ({ ...reading.ref, time, values: ofWorkload(reading, at) }))
    for (const [name, one] of runs) if (at - one.at > rememberSeconds) runs.delete(name)
    const running = new Set(workloads.map(({ ref }) => ref.project))
    const projects = requestPoints({ before: counts, now: requests, running, time })
    counts = requests === null ? null : new Map(requests.map((one) => [one.project, one]))
    lastAt = at
    return [...points, ...projects]
  }
}

const none: RequestCounts = { classes: [0, 0, 0, 0, 0], seconds: 0 }

/** Of projects that run, and of those that were asked for all the same. */
function requestPoints(of: {
  readonly before: ReadonlyMap<string, RequestCounts> | null
  readonly now: ReadAll['requests']
  readonly running: ReadonlySet<string>
  readonly time: number
}): readonly (SeriesName & MetricPoint)[] {
  const { before, now, running, time } = of
  if (before === null || now === null) return []
  const counted = new Map<string, RequestCounts>(now.map((one) => [one.project, one]))
  for (const project of running) if (!counted.has(project)) counted.set(project, none)
  return [...counted].flatMap(([project, one]) => {
    const values = requestsBetween(before.get(project) ?? none, one)
    const isQuiet = !running.has(project) && values?.every((value) => value === null || value === 0)
    return values === null || isQuiet ? [] : [{ project, workload: '', time, values }]
  })
}
