import { open } from 'node:fs/promises'
import type { WorkloadRef } from '@stackquay/engine-api'
import { withLockFile } from '../../native/lock.ts'
import { newLog } from '../../native/new-log.ts'
import type { Daemon } from '../daemon.ts'
import { targetOf } from '../wire/target.ts'
import { type CollectorState, collectorLock, nothingYet, openState, readState } from './collector-state.ts'
import { timeBeforeStart } from './container-output.ts'
import type { LogMachine } from './log-machine.ts'

/** Begins the log of a new run, which the collection then fills. A run that has a log already keeps it. */
export async function beginLog(
  daemon: Daemon,
  machine: LogMachine,
  ref: WorkloadRef,
  container: string,
  signal: AbortSignal,
): Promise<void> {
  const { home, table } = daemon
  await withLockFile(table, collectorLock(home, ref), signal, async () => {
    const last = readState(home, ref)
    if (last !== null && last.container === container && !last.done) return
    // The log's id says when it began, and no line of it may be older.
    const begin = await timeBeforeStart(await targetOf(daemon.docker), container)
    const now = () => (begin === null ? daemon.now() : new Date(begin))
    const files = await newLog({ ...machine, now }, ref)
    for (const path of [files.err, files.out]) await (await open(path, 'a', 0o600)).close()
    const state = await openState(home, ref)
    state.write(stateOfNewLog(last, files.log, container))
    state.close()
  })
}

/** A container that is started again still holds what it printed before. */
function stateOfNewLog(last: CollectorState | null, log: string, container: string): CollectorState {
  const from = last?.container === container ? last : { stdout: nothingYet, stderr: nothingYet }
  return {
    number: (last?.number ?? 0) + 1,
    log,
    container,
    stdout: { ...from.stdout, size: 0 },
    stderr: { ...from.stderr, size: 0 },
    done: false,
  }
}
