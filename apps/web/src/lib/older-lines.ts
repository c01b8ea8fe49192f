import type { LogEntry } from './log-buffer.ts'

type Line = Omit<LogEntry, 'cursor'>

/**
 * From when on the lines held are all there are; null when they are all from the beginning. The stream brings the
 * newest `tail` lines of every workload: one that had as many may have older ones, even older than another's are.
 */
export function completeFrom(held: readonly Line[], tail: number): string | null {
  const oldest = new Map<string, { time: string; count: number }>()
  for (const { workload, time } of held) {
    const seen = oldest.get(workload)
    if (seen === undefined) oldest.set(workload, { time, count: 1 })
    else seen.count += 1
  }
  const cut = [...oldest.values()].filter(({ count }) => count >= tail).map(({ time }) => time)
  return cut.length === 0 ? null : cut.sort().at(-1)!
}

/** Of a page of lines, those that are not among the held ones. Equal lines of one millisecond count as often as they are there. */
export function notHeld<Read extends Line>(page: readonly Read[], held: readonly Line[]): readonly Read[] {
  const [first, last] = [page[0], page.at(-1)]
  if (first === undefined || last === undefined) return []
  const known = new Map<string, number>()
  for (const line of held) {
    if (line.time < first.time || line.time > last.time) continue
    known.set(keyOf(line), (known.get(keyOf(line)) ?? 0) + 1)
  }
  const fresh: Read[] = []
  // From the end: what is held of a moment is its newest.
  for (const line of page.toReversed()) {
    const count = known.get(keyOf(line)) ?? 0
    if (count > 0) known.set(keyOf(line), count - 1)
    else fresh.push(line)
  }
  return fresh.reverse()
}

function keyOf({ time, workload, stream, text }: Line): string {
  return `${time}\0${workload}\0${stream}\0${text}`
}
