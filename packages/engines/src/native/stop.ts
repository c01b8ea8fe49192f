import type { StopPolicy, WorkloadRef } from '@stackquay/engine-api'
import { readExit, readUnseenExit } from './exit-file.ts'
import { endFamily } from './family.ts'
import { suspectsOf } from './isolation/confine.ts'
import { locate, withLeader } from './locate.ts'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { type RunRecord, readRecord, writeRecord } from './record.ts'
import { runTarget } from './run-target.ts'
import type { Supervisor } from './supervisor.ts'

/** Ends a workload and everything it started. Kept data, logs and the record stay. */
export async function stopWorkload(
  machine: Machine,
  supervisor: Supervisor,
  ref: WorkloadRef,
  stop: StopPolicy,
  signal: AbortSignal,
): Promise<void> {
  await withLock(machine, ref, signal, () => stopLocked(machine, supervisor, ref, stop, signal))
}

/** The caller holds the lock. `stop` null: as the record says. */
export async function stopLocked(
  machine: Machine,
  supervisor: Supervisor,
  ref: WorkloadRef,
  stop: StopPolicy | null,
  signal: AbortSignal,
): Promise<void> {
  const record = await readRecord(machine.home, ref)
  if (record !== null) return endRun(machine, supervisor, record, stop ?? record.stop, signal)
  await supervisor.release(ref)
  const policy = stop ?? { signal: 'SIGTERM', deadlineSeconds: 1 }
  const target = runTarget(machine, ref)
  await endFamily(suspectsOf(machine, ref.project), { ...target, leader: null, policy }, signal)
  target.group?.remove()
}

/** The record says `stopping` before the first signal: an end that comes from us is never taken for a crash. */
export async function endRun(
  machine: Machine,
  supervisor: Supervisor,
  record: RunRecord,
  policy: StopPolicy,
  signal: AbortSignal,
): Promise<void> {
  const leader = locate(machine, record)
  const known = leader === null ? record : (withLeader(record, leader) ?? record)
  if (leader !== null && record.phase !== 'stopping') await writeRecord(machine.home, { ...known, phase: 'stopping' })

  const target = { ...runTarget(machine, record.ref), leader: known.run?.process ?? null, policy }
  const { killed } = await endFamily(suspectsOf(machine, record.ref.project), target, signal)
  const ended = supervisor.monitor(record.ref)?.state().ended ?? null
  await supervisor.release(record.ref)
  // The cause of an earlier end by itself is still to be reported.
  const unseen = leader === null ? await readUnseenExit(machine, record) : await readExit(machine, record)
  target.group?.remove()
  if (record.phase === 'stopped') return

  const at = machine.now().toISOString()
  const unknown = leader === null ? record.lastExit : { code: null, signal: killed ? 'SIGKILL' : null, at }
  const wasAlive = record.phase === 'starting' || record.phase === 'running' || record.phase === 'stopping'
  const exit = ended ?? unseen ?? unknown
  // A stopped run did not end for its limits, even if a child of it had just done so.
  const byUs = leader === null || exit === null ? exit : { code: exit.code, signal: exit.signal, at: exit.at }
  const lastExit = wasAlive ? byUs : record.lastExit
  await writeRecord(machine.home, { ...known, phase: 'stopped', since: at, lastExit })
}
