import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { orNull } from './errors.ts'
import { type PunchHole, punchHole } from './log-hole.ts'
import { type LogLimits, type RecordedLog, tidyLogs } from './tidy-logs.ts'

export const usualLogLimits: LogLimits = { maxBytes: 256 * 1024 * 1024, maxDays: 14 }
/** Keeps logs within their limits by dropping the oldest lines, never others. */
export interface LogKeeper {
  /** How much a log may grow before its recorder asks for `tidy` again. */
  readonly slack: number
  /** A log that grows: only its recorder writes its index. Answers the function that ends it. */
  recorded(path: string, recorder: RecordedLog): () => void
  /** Of one workload. Calls for the same one never overlap. */
  tidy(directory: string): Promise<void>
  /** Of all workloads, in folders of projects. */
  tidyAll(logs: string): Promise<void>
}

export function createLogKeeper(
  limits: LogLimits,
  now: () => Date,
  { punch = punchHole }: { readonly punch?: PunchHole } = {},
): LogKeeper {
  const recorders = new Map<string, RecordedLog>()
  const working = new Map<string, Promise<void>>()
  // The limits may change while it runs.
  const slack = () => Math.max(64 * 1024, Math.min(16 * 1024 * 1024, Math.floor(limits.maxBytes / 16)))

  const keeper: LogKeeper = {
    get slack() {
      return slack()
    },
    recorded(path, recorder) {
      recorders.set(path, recorder)
      return () => {
        if (recorders.get(path) === recorder) recorders.delete(path)
      }
    },
    tidy(directory) {
      const before = working.get(directory) ?? Promise.resolve()
      const work = before
        .catch(() => undefined)
        .then(() => tidyLogs({ limits, recorders, slack: slack(), punch, now }, directory))
        .finally(() => {
          if (working.get(directory) === work) working.delete(directory)
        })
      working.set(directory, work)
      return work
    },
    async tidyAll(logs) {
      for (const project of (await orNull(readdir(logs))) ?? []) {
        for (const workload of (await orNull(readdir(join(logs, project)))) ?? [])
          await keeper.tidy(join(logs, project, workload)).catch(() => undefined)
      }
    },
  }
  return keeper
}
