import { mkdir } from 'node:fs/promises'
import type { WorkloadRef } from '@stackquay/engine-api'
import { logsDir } from './home.ts'
import { type LogFiles, logFiles, logsOf } from './log-files.ts'
import type { Machine } from './machine.ts'

/** Begins a new log after all others, of which the oldest may have to make room. */
export async function newLog(machine: Pick<Machine, 'home' | 'logs' | 'now'>, ref: WorkloadRef): Promise<LogFiles> {
  const directory = logsDir(machine.home, ref)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await machine.logs.tidy(directory)
  const last = (await logsOf(directory)).at(-1)
  const id = Math.max(machine.now().getTime(), last === undefined ? 0 : Number.parseInt(last, 36) + 1)
  return logFiles(machine, ref, id.toString(36).padStart(9, '0'))
}
