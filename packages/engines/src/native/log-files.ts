import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkloadRef } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { orNull } from './errors.ts'
import { type Home, logsDir } from './home.ts'

/*
 * Each run has three files in `logs/<project>/<workload>/`: `<log>.out` and `<log>.err`, which the program itself
 * appends to, and `<log>.idx`, which says when how much of them was there. The log's id sorts by time.
 */

export type Stream = 'stdout' | 'stderr'

export interface LogFiles {
  readonly directory: string
  readonly log: string
  readonly out: string
  readonly err: string
  readonly index: string
}

export function logFiles(machine: { readonly home: Home }, ref: WorkloadRef, log: string): LogFiles {
  return logFilesIn(logsDir(machine.home, ref), log)
}

export function logFilesIn(directory: string, log: string): LogFiles {
  return {
    directory,
    log,
    out: join(directory, `${log}.out`),
    err: join(directory, `${log}.err`),
    index: join(directory, `${log}.idx`),
  }
}

/** Ids of the runs that still have logs, oldest first. */
export async function logsOf(directory: string): Promise<readonly string[]> {
  const names = (await orNull(readdir(directory))) ?? []
  return names.flatMap((name) => (name.endsWith('.out') ? [name.slice(0, -4)] : [])).sort()
}

/** When a log was begun, in ms: its id. */
export function beginOf(log: string): number {
  return Number.parseInt(log, 36)
}

/** Opens a log's files for appending; the program owns them, so that it can open /dev/stdout again. */
export async function openForAppend(account: Account | null, files: LogFiles) {
  const [out, err] = await Promise.all([open(files.out, 'a', 0o600), open(files.err, 'a', 0o600)])
  if (account !== null) await Promise.all([out, err].map((file) => file.chown(account.uid, account.gid)))
  return { out, err, close: () => Promise.all([out.close(), err.close()]) }
}
