import { type LogSlice, runUpTo, timeAt } from './log-slices.ts'

/** Lines of one workload that wait to be handed over, from `at` on. */
export interface WaitingLines extends Pick<LogSlice, 'workload' | 'batch'> {
  readonly length: number
  at: number
}

/**
 * Takes lines of several workloads in the order of time, until they have about this size together or one of the workloads has no
 * more: its next line may be older than those of the others. Each has lines at the beginning; their `at` goes on.
 */
export function takeInOrder(ready: readonly WaitingLines[], room: number): { slices: LogSlice[]; size: number } {
  const slices: LogSlice[] = []
  let size = 0
  while (size < room) {
    const { oldest, bound } = oldestOf(ready)
    const { workload, batch, at: from } = oldest
    const run = runUpTo(batch, from, { bound, room: room - size, ofLine: lineSize })
    oldest.at = run.to
    size += run.size
    slices.push({ workload, batch, from, to: run.to })
    if (run.to === oldest.length) break
  }
  return { slices, size }
}

/** The workload of which the next line is, and the time up to which all of its lines are. */
function oldestOf(ready: readonly WaitingLines[]): { oldest: WaitingLines; bound: number } {
  let oldest = ready[0]!
  let bound = Number.POSITIVE_INFINITY
  for (const other of ready.slice(1)) {
    const [mine, theirs] = [timeAt(oldest.batch, oldest.at), timeAt(other.batch, other.at)]
    if (theirs < mine) oldest = other
    bound = Math.min(bound, Math.max(mine, theirs))
  }
  return { oldest, bound }
}

/** What a line's JSON has beside its text. */
const lineSize = 160
