import type { Exit, WorkloadRef } from '@stackquay/engine-api'
import { endFamily } from './family.ts'
import { suspectsOf } from './isolation/confine.ts'
import { locate } from './locate.ts'
import type { Machine } from './machine.ts'
import { readRecord, writeRecord } from './record.ts'
import { runTarget } from './run-target.ts'

/**
 * Writes down that a run is over and ends what it left behind: children whose parent was killed still hold its ports.
 * The caller holds the lock.
 */
export async function settleRun(
  machine: Machine,
  ref: WorkloadRef,
  run: string,
  exit: Exit | null,
  signal: AbortSignal,
): Promise<void> {
  const record = await readRecord(machine.home, ref)
  if (record === null || record.run?.id !== run || record.phase === 'exited' || record.phase === 'stopped') return
  if (locate(machine, record) !== null) return
  const target = { ...runTarget(machine, ref), leader: record.run.process, policy: record.stop }
  await endFamily(suspectsOf(machine, ref.project), target, signal)
  const deliberate = record.phase === 'stopping' || (record.phase === 'starting' && exit === null)
  const unknown: Exit = { code: null, signal: null, at: machine.now().toISOString() }
  const lastExit = exit ?? (record.phase === 'starting' ? record.lastExit : unknown)
  await writeRecord(machine.home, {
    ...record,
    phase: deliberate ? 'stopped' : 'exited',
    since: lastExit?.at ?? record.since,
    lastExit,
  })
  // Its counts are in the record now.
  target.group?.remove()
}
