import type { WorkloadRef } from '@stackquay/engine-api'
import { openForAppend, type Stream } from '../../native/log-files.ts'
import { recordLog } from '../../native/log-recorder.ts'
import { newLog } from '../../native/new-log.ts'
import type { LogMachine } from './log-machine.ts'

/** What one job prints, for the log of its workload. */
export interface JobLog {
  write(stream: Stream, bytes: Buffer): Promise<void>
  close(): Promise<void>
}

/** A log of the job alone, for a workload that does not run. */
export async function openJobLog(machine: LogMachine, ref: WorkloadRef): Promise<JobLog> {
  const files = await newLog(machine, ref)
  const streams = await openForAppend(null, files)
  const recorder = await recordLog(files, machine)
  return {
    async write(stream, bytes) {
      await (stream === 'stdout' ? streams.out : streams.err).appendFile(bytes)
      await recorder.sample()
    },
    async close() {
      await recorder.close()
      await streams.close()
    },
  }
}
