import type { CronView, WorkerView } from '@stackquay/contract'
import type { CronSpec, WorkerSpec } from '@stackquay/domain'
import type { SeenCron } from './cron-memory.ts'

/** A worker as it is answered, field by field. */
export function workerView({ command, count, runtime, enabled, copied }: WorkerSpec): WorkerView {
  return { command: [...command], count, runtime, enabled, copied: copied === true }
}

export function cronView(job: CronSpec, seen: SeenCron): CronView {
  const { schedule, timezone, command, timeLimit, overlap, runtime, enabled, copied } = job
  const settings = { schedule, timezone, timeLimit, overlap, runtime, enabled }
  return { command: [...command], ...settings, copied: copied === true, ...seen }
}
