import { appendFile, readdir, readFile, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolders } from './make-folder.ts'
import { addMinute, type Counts, createCounts, type Minutes, readMinute, writeMinute } from './minutes.ts'
import type { TrafficAnswer, TrafficPoint, TrafficQuery } from './queries.ts'

/** Minutes of a project are in one file a day; whole files are dropped when they are older than this. */
const keptDays = 7

/** Each minute goes to the file of its day. */
export async function appendMinutes(
  folder: string,
  minutes: readonly (readonly [minute: number, counts: Counts])[],
): Promise<void> {
  for (const [day, ofDay] of Map.groupBy(minutes, ([minute]) => dayOf(minute))) {
    // A line before them that broke off must not swallow the first; readers pass over empty lines.
    const lines = ofDay.map(([minute, counts]) => `\n${writeMinute(minute, counts)}`).join('')
    const append = () => appendFile(trafficPath(folder, day), `${lines}\n`, { mode: 0o600 })
    await append().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await makeFolders(dirname(folder), folder)
      await append()
    })
  }
}

export async function readTraffic(
  folder: string,
  { from, to, step }: TrafficQuery,
  running: Minutes['waiting'],
): Promise<TrafficAnswer> {
  const points = new Map<number, Counts>()
  const first = Math.floor(from / step)
  const last = Math.ceil(to / step)
  for (let index = first; index < last; index += 1) points.set(index, createCounts())
  const total = createCounts()
  const add = (minute: number, counts: Parameters<typeof addMinute>[1]) => {
    const point = points.get(Math.floor((minute * 60) / step))
    if (point === undefined) return
    addMinute(point, counts)
    addMinute(total, counts)
  }

  const begin = Math.floor((first * step) / 60)
  const end = Math.ceil((last * step) / 60)
  for (const day of daysBetween(begin, end)) {
    for (const line of await linesOf(trafficPath(folder, day))) {
      const stored = readMinute(line)
      if (stored !== null) add(stored.minute, stored)
    }
  }
  for (const [minute, counts] of running) add(minute, { ...counts, times: counts.times.sparse() })
  return {
    stepSeconds: step,
    items: [...points].map(([index, counts]) => ({
      time: new Date(index * step * 1000).toISOString(),
      ...pointOf(counts),
    })),
    total: pointOf(total),
  }
}

export async function dropOldTraffic(folder: string, now: number): Promise<void> {
  const oldest = dayOf(Math.floor(now / 60_000) - (keptDays + 1) * 24 * 60)
  for (const name of await readdir(folder)) {
    const day = /^traffic-(\d{4}-\d\d-\d\d)\.jsonl$/.exec(name)?.[1]
    if (day !== undefined && day < oldest) await unlink(join(folder, name)).catch(() => {})
  }
}

function pointOf({ requests, bytes, classes, times }: Counts): Omit<TrafficPoint, 'time'> {
  return {
    requests,
    bytes,
    status2xx: classes[1],
    status3xx: classes[2],
    status4xx: classes[3],
    status5xx: classes[4],
    p50: times.percentile(0.5),
    p95: times.percentile(0.95),
    p99: times.percentile(0.99),
  }
}

function trafficPath(folder: string, day: string): string {
  return join(folder, `traffic-${day}.jsonl`)
}

function dayOf(minute: number): string {
  return new Date(minute * 60_000).toISOString().slice(0, 10)
}

function daysBetween(begin: number, end: number): readonly string[] {
  const days = new Set<string>()
  for (let minute = begin; minute < end; minute += 24 * 60) days.add(dayOf(minute))
  if (end > begin) days.add(dayOf(end - 1))
  return [...days]
}

async function linesOf(path: string): Promise<readonly string[]> {
  try {
    return (await readFile(path, 'utf8')).split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
