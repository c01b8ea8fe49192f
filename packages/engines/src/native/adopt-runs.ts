import { readdir } from 'node:fs/promises'
import type { WorkloadRef } from '@stackquay/engine-api'
import { readUnseenExit } from './exit-file.ts'
import { isName } from './home.ts'
import { locate, withLeader } from './locate.ts'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { readRecord, recordedWorkloads } from './record.ts'
import type { RunUpdates } from './run-updates.ts'
import { settleRun } from './settle-run.ts'
import type { Supervisor } from './supervisor.ts'
import { missingFile } from './waiting.ts'

/** Finds everything earlier instances left running, and settles what ended meanwhile. */
export async function adoptRuns(machine: Machine, supervisor: Watching, updates: RunUpdates): Promise<void> {
  for (const project of (await readdir(machine.home.run)).filter(isName)) {
    const refs = await recordedWorkloads(machine.home, project)
    await Promise.all(refs.map((ref) => adopt(machine, supervisor, updates, ref)))
  }
}

type Watching = Pick<Supervisor, 'watchRun' | 'watchWaiting'>

async function adopt(machine: Machine, supervisor: Watching, updates: RunUpdates, ref: WorkloadRef): Promise<void> {
  const record = await readRecord(machine.home, ref)
  if (record === null || record.phase === 'exited' || record.phase === 'stopped') return
  if (record.phase === 'waiting') {
    const account = machine.accounts.known(ref.project) ?? null
    if ((await missingFile(account, record.requires)) !== null) supervisor.watchWaiting(record)
    return
  }
  const leader = locate(machine, record)
  if (leader !== null) {
    await supervisor.watchRun(record, leader, null)
    if (record.run?.process === null) updates.later(() => updates.change(record, (now) => withLeader(now, leader)))
    return
  }
  updates.later(async () => {
    const exit = await readUnseenExit(machine, record)
    await withLock(machine, ref, updates.signal, () =>
      settleRun(machine, ref, record.run?.id ?? '', exit, updates.signal),
    )
  })
}
