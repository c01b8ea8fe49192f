import type { ChildProcess } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import type { Exit, WorkloadRef } from '@stackquay/engine-api'
import { readUnseenExit } from './exit-file.ts'
import { endFamily, type Leader, livingLeader } from './family.ts'
import { isName } from './home.ts'
import { suspectsOf } from './isolation/confine.ts'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { processesMarked } from './marker.ts'
import { type RunRecord, readRecord, recordedWorkloads, writeRecord } from './record.ts'
import { monitorRun, type RunListener, type RunMonitor } from './run-monitor.ts'
import { runTarget } from './run-target.ts'
import { missingFile, type WaitMonitor, watchRequired } from './waiting.ts'

/** Knows which runs of this home live, watches them, and writes down how they end. */
export interface Supervisor {
  /** Watches a run that lives, once; answers its monitor. */
  watchRun(record: RunRecord, leader: Leader, child: ChildProcess | null): Promise<RunMonitor>
  watchWaiting(record: RunRecord): void
  monitor(ref: WorkloadRef): RunMonitor | null
  /** Stops watching: the caller is about to end it or has ended it. */
  release(ref: WorkloadRef): Promise<void>
  /** Finds everything earlier instances left running, and settles what ended meanwhile. */
  adoptAll(): Promise<void>
  close(): Promise<void>
}

export function createSupervisor(machine: Machine): Supervisor {
  const runs = new Map<string, Promise<RunMonitor>>()
  const current = new Map<string, RunMonitor>()
  const waits = new Map<string, WaitMonitor>()
  const closing = new AbortController()
  const background = new Set<Promise<void>>()
  const key = (ref: WorkloadRef) => `${ref.project}/${ref.workload}`

  const later = (act: () => Promise<void>) => {
    const work = act().catch(() => {})
    background.add(work)
    void work.finally(() => background.delete(work))
  }
  const listener: RunListener = {
    ended: (record, exit) => later(() => onEnd(record, exit)),
    healthy(record) {
      machine.emit({ type: 'healthy', ref: record.ref })
      later(() => update(record, (now) => (now.wasHealthy ? null : { ...now, wasHealthy: true })))
    },
    unhealthy: (record, reason) => machine.emit({ type: 'unhealthy', ref: record.ref, reason }),
    limited: (record) => machine.emit({ type: 'limited', ref: record.ref }),
  }

  /** The event comes first, the record after: whoever observes meanwhile sees the machine itself. */
  async function onEnd(record: RunRecord, exit: Exit): Promise<void> {
    const now = await readRecord(machine.home, record.ref)
    if (now?.run?.id !== record.run?.id) return
    if (now?.phase !== 'stopping') machine.emit({ type: 'exited', ref: record.ref, exit })
    await withLock(machine, record.ref, closing.signal, () =>
      settle(machine, record.ref, record.run?.id ?? '', exit, closing.signal),
    )
  }

  async function update(record: RunRecord, change: (now: RunRecord) => RunRecord | null): Promise<void> {
    await withLock(machine, record.ref, closing.signal, async () => {
      const now = await readRecord(machine.home, record.ref)
      const next = now?.run?.id === record.run?.id && now !== null ? change(now) : null
      if (next !== null) await writeRecord(machine.home, next)
    })
  }

  const supervisor: Supervisor = {
    async watchRun(record, leader, child) {
      const id = key(record.ref)
      waits.get(id)?.close()
      waits.delete(id)
      const before = await runs.get(id)
      if (before !== undefined && before.record.run?.id === record.run?.id) return before
      const known = runs.get(id)
      await before?.close()
      if (runs.get(id) !== known) return supervisor.watchRun(record, leader, child)
      const made = monitorRun(machine, record, leader, child, listener)
      runs.set(id, made)
      const monitor = await made
      if (closing.signal.aborted) await monitor.close()
      if (runs.get(id) === made) current.set(id, monitor)
      return monitor
    },
    watchWaiting(record) {
      const id = key(record.ref)
      if (waits.has(id) || closing.signal.aborted) return
      waits.set(
        id,
        watchRequired(machine.accounts.known(record.ref.project) ?? null, record.requires, () => {
          waits.delete(id)
          machine.emit({ type: 'unblocked', ref: record.ref })
        }),
      )
    },
    monitor: (ref) => current.get(key(ref)) ?? null,
    async release(ref) {
      const id = key(ref)
      waits.get(id)?.close()
      waits.delete(id)
      const run = runs.get(id)
      runs.delete(id)
      current.delete(id)
      await (await run)?.close()
    },
    async adoptAll() {
      for (const project of (await readdir(machine.home.run)).filter(isName)) {
        const refs = await recordedWorkloads(machine.home, project)
        await Promise.all(refs.map((ref) => adopt(machine, supervisor, ref, later)))
      }
    },
    async close() {
      closing.abort()
      for (const wait of waits.values()) wait.close()
      await Promise.all([...runs.values()].map(async (run) => (await run).close()))
      await Promise.all(background)
    },
  }

  async function adopt(
    on: Machine,
    by: Supervisor,
    ref: WorkloadRef,
    inBackground: (act: () => Promise<void>) => void,
  ): Promise<void> {
    const record = await readRecord(on.home, ref)
    if (record === null || record.phase === 'exited' || record.phase === 'stopped') return
    if (record.phase === 'waiting') {
      const account = on.accounts.known(ref.project) ?? null
      if ((await missingFile(account, record.requires)) !== null) by.watchWaiting(record)
      return
    }
    const leader = locate(on, record)
    if (leader !== null) {
      await by.watchRun(record, leader, null)
      if (record.run?.process === null) inBackground(() => update(record, (now) => withLeader(now, leader)))
      return
    }
    inBackground(async () => {
      const exit = await readUnseenExit(on, record)
      await withLock(on, ref, closing.signal, () => settle(on, ref, record.run?.id ?? '', exit, closing.signal))
    })
  }

  return supervisor
}

/** The living leader of a recorded run. Where the record was cut off before the pid, the run's marker finds it. */
export function locate(machine: Machine, record: RunRecord): Leader | null {
  const { run } = record
  if (run === null || record.phase === 'exited' || record.phase === 'stopped' || record.phase === 'waiting') return null
  if (run.process !== null) return livingLeader(machine.table, run.process) === null ? null : run.process
  const found = processesMarked(suspectsOf(machine, record.ref.project), run.marker).find(
    (entry) => entry.session === entry.pid || entry.group === entry.pid,
  )
  return found === undefined ? null : { pid: found.pid, startTime: found.startTime, bootId: machine.table.bootId() }
}

export function withLeader(record: RunRecord, leader: Leader): RunRecord | null {
  if (record.run === null || record.run.process !== null) return null
  return {
    ...record,
    phase: record.phase === 'starting' ? 'running' : record.phase,
    run: { ...record.run, process: leader },
  }
}

/**
 * Writes down that a run is over and ends what it left behind: children whose parent was killed still hold its ports.
 * The caller holds the lock.
 */
export async function settle(
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
  // What it counted stands in the record now.
  target.group?.remove()
}
