import type { ExportLine } from '@stackquay/domain'

export interface QueuedLine extends ExportLine {
  /** The project’s id, which a new slug does not change. */
  readonly projectId: string
  /** Where reading goes on after it. */
  readonly cursor: string
}

/** Lines on their way, in the order in which they were read. */
export interface LineQueue {
  size(): number
  /** Whether one more may come. */
  hasRoom(): boolean
  push(line: QueuedLine): void
  /** The oldest; null when there is none. */
  first(): QueuedLine | null
  /** The oldest lines, as many as are sent at once; they stay. */
  batch(): readonly QueuedLine[]
  /** Takes the oldest away. */
  take(count: number): readonly QueuedLine[]
}

export interface QueueLimits {
  readonly lines: number
  /** UTF-16 units of text, of all lines and of a batch. */
  readonly units: number
  readonly batchLines: number
  readonly batchUnits: number
}

export function createLineQueue(limits: QueueLimits): LineQueue {
  let lines: QueuedLine[] = []
  // What was taken is removed from the front once in a while: one by one each would move all others.
  let head = 0
  let units = 0
  const size = () => lines.length - head
  return {
    size,
    hasRoom: () => size() < limits.lines && units < limits.units,
    push: (line) => {
      lines.push(line)
      units += line.text.length
    },
    first: () => lines[head] ?? null,
    batch: () => {
      let end = head
      for (let sum = 0; end < lines.length && end - head < limits.batchLines && sum < limits.batchUnits; end += 1)
        sum += lines[end]!.text.length
      return lines.slice(head, end)
    },
    take: (count) => {
      const taken = lines.slice(head, head + count)
      head += taken.length
      for (const { text } of taken) units -= text.length
      if (head >= limits.batchLines || head === lines.length) {
        lines = lines.slice(head)
        head = 0
      }
      return taken
    },
  }
}
