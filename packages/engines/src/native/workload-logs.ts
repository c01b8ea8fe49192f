import type { LogBatch, LogLine, LogOptions, WorkloadRef } from '@stackquay/engine-api'
import { flatten } from './flatten.ts'
import { locate } from './locate.ts'
import { logBatches } from './logs.ts'
import type { Machine } from './machine.ts'
import { readRecord } from './record.ts'

/** Logs of workloads, by what is known of their runs. */
export interface WorkloadLogs {
  /** The log of the run that lives; null when none does. */
  live(ref: WorkloadRef): Promise<string | null>
  batches(ref: WorkloadRef, options: LogOptions, signal: AbortSignal): AsyncIterable<LogBatch>
  lines(ref: WorkloadRef, options: LogOptions, signal: AbortSignal): AsyncIterable<LogLine>
  /** The last lines, oldest first. */
  tail(ref: WorkloadRef, lines: number): Promise<string[]>
}

export function createWorkloadLogs(machine: Machine, closing: AbortSignal): WorkloadLogs {
  const live = async (ref: WorkloadRef) => {
    const record = await readRecord(machine.home, ref)
    return record !== null && locate(machine, record) !== null ? (record.run?.log ?? null) : null
  }
  const batches = (ref: WorkloadRef, options: LogOptions, signal: AbortSignal) =>
    logBatches(machine, ref, options, async (log) => (await live(ref)) === log, AbortSignal.any([signal, closing]))
  const lines = (ref: WorkloadRef, options: LogOptions, signal: AbortSignal) => flatten(batches(ref, options, signal))
  return {
    live,
    batches,
    lines,
    async tail(ref, count) {
      const found: LogLine[] = await Array.fromAsync(lines(ref, { tail: count }, closing))
      return found.map((line) => line.text)
    },
  }
}
