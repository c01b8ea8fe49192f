import type { Exit, Observed, ObservedState } from '@stackquay/engine-api'
import { readUnseenExit } from './exit-file.ts'
import { locate } from './locate.ts'
import type { Machine } from './machine.ts'
import { type RunRecord, readRecord, recordedWorkloads } from './record.ts'
import type { Supervisor } from './supervisor.ts'
import { pause } from './time.ts'
import { missingFile } from './waiting.ts'

/** How long an observation waits for the first health check of a run that was just found. */
const FIRST_CHECK_MS = 400

/** Reads the records of a project and asks the kernel what of it is true. Watches what it finds alive; changes nothing. */
export async function observeProject(
  machine: Machine,
  supervisor: Supervisor,
  project: string,
): Promise<readonly Observed[]> {
  const refs = await recordedWorkloads(machine.home, project)
  const records = await Promise.all(refs.map((ref) => readRecord(machine.home, ref)))
  return Promise.all(records.flatMap((record) => (record === null ? [] : [observeRecord(machine, supervisor, record)])))
}

export async function observeRecord(machine: Machine, supervisor: Supervisor, record: RunRecord): Promise<Observed> {
  const leader = locate(machine, record)
  if (leader !== null) {
    const monitor = await supervisor.watchRun(record, leader, null)
    await Promise.race([monitor.checked, pause(FIRST_CHECK_MS)])
    const { health, reason, ended, limited } = monitor.state()
    if (ended === null)
      return observed(record, 'running', {
        pid: leader.pid,
        health,
        reason: health === 'unhealthy' ? reason : null,
        ...(limited === null ? {} : { limited }),
      })
  }
  switch (record.phase) {
    case 'waiting': {
      const missing = await missingFile(machine.accounts.known(record.ref.project) ?? null, record.requires)
      if (missing === null) return observed(record, 'stopped', {})
      supervisor.watchWaiting(record)
      return observed(record, 'waiting', { reason: missing.hint })
    }
    case 'exited':
    case 'stopped':
      return observed(record, record.phase, {})
    case 'starting':
    case 'running':
    case 'stopping': {
      const exit = supervisor.monitor(record.ref)?.state().ended ?? (await readUnseenExit(machine, record))
      const neverRan = record.phase === 'starting' && exit === null
      const state = record.phase === 'stopping' || neverRan ? 'stopped' : 'exited'
      const at = exit?.at ?? machine.now().toISOString()
      const lastExit: Exit | null = exit ?? (neverRan ? record.lastExit : { code: null, signal: null, at })
      return { ...observed(record, state, {}), since: at, lastExit }
    }
    default:
      return record.phase satisfies never
  }
}

function observed(
  record: RunRecord,
  state: ObservedState,
  now: Partial<Pick<Observed, 'pid' | 'health' | 'reason' | 'limited'>>,
): Observed {
  return {
    ref: record.ref,
    state,
    fingerprint: record.fingerprint,
    since: record.since,
    pid: now.pid ?? null,
    ports: record.ports.map(({ name, port, hostPort }) => ({ name, port, hostPort })),
    lastExit: record.lastExit,
    health: now.health ?? 'none',
    reason: now.reason ?? null,
    title: record.title,
    stop: record.stop,
    dependsOn: record.dependsOn ?? [],
    ...(now.limited === undefined ? {} : { limited: now.limited }),
  }
}
