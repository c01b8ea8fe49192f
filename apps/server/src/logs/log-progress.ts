import { type LogPosition, settledPosition } from './log-position.ts'

/** How far the logs of several workloads were handed over. */
export interface LogProgress {
  readonly time: string | null
  readonly cursors: Readonly<Record<string, string>>
  passed(workload: string, cursor: string): void
  /** Lines up to this time were read, in ms since 1970. */
  saw(time: number): void
  /** Whether any workload is further than at this position. */
  isBehind(position: LogPosition): boolean
  /** When everything was handed over, also of workloads that had nothing. */
  position(isUpToDate: boolean): LogPosition
}

export function createLogProgress(from: LogPosition): LogProgress {
  const cursors: Record<string, string> = { ...from.cursors }
  let { time } = from
  let newest: number | null = null
  return {
    get time() {
      return time
    },
    cursors,
    passed: (workload, cursor) => {
      cursors[workload] = cursor
    },
    saw: (seen) => {
      newest = Math.max(newest ?? 0, seen)
    },
    isBehind: (position) => Object.keys(cursors).some((workload) => cursors[workload] !== position.cursors[workload]),
    position: (isUpToDate) => {
      if (!isUpToDate) return { time, cursors: { ...cursors } }
      const settled = settledPosition({ ...cursors }, time, newest === null ? null : new Date(newest).toISOString())
      time = settled.time
      return settled
    },
  }
}
