import type { ChildProcess } from 'node:child_process'
import type { WorkloadRef } from '@stackquay/engine-api'
import { adoptRuns } from './adopt-runs.ts'
import type { Leader } from './family.ts'
import type { Machine } from './machine.ts'
import type { RunRecord } from './record.ts'
import { monitorRun, type RunMonitor } from './run-monitor.ts'
import { createRunUpdates, runReporter } from './run-updates.ts'
import { createWaits, keyOf } from './waits.ts'

/** Knows which runs of this home live, watches them, and writes down how they end. */
export interface Supervisor {
  /** Watches a run that lives, once; answers its monitor. */
  watchRun(record: RunRecord, leader: Leader, child: ChildProcess | null): Promise<RunMonitor>
  watchWaiting(record: RunRecord): void
  monitor(ref: WorkloadRef): RunMonitor | null
  monitors(): readonly RunMonitor[]
  /** Stops watching: the caller is about to end it or has ended it. */
  release(ref: WorkloadRef): Promise<void>
  /** Finds everything earlier instances left running, and settles what ended meanwhile. */
  adoptAll(): Promise<void>
  close(): Promise<void>
}

export function createSupervisor(machine: Machine): Supervisor {
  const runs = new Map<string, Promise<RunMonitor>>()
  const current = new Map<string, RunMonitor>()
  const waits = createWaits()
  const closing = new AbortController()
  const updates = createRunUpdates(machine, closing.signal)
  const listener = runReporter(machine, updates)

  const supervisor: Supervisor = {
    async watchRun(record, leader, child) {
      const id = keyOf(record.ref)
      waits.stop(record.ref)
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
    watchWaiting({ ref, requires }) {
      const account = machine.accounts.known(ref.project) ?? null
      waits.watch(ref, account, requires, () => machine.emit({ type: 'unblocked', ref }))
    },
    monitor: (ref) => current.get(keyOf(ref)) ?? null,
    monitors: () => [...current.values()],
    async release(ref) {
      const id = keyOf(ref)
      waits.stop(ref)
      const run = runs.get(id)
      runs.delete(id)
      current.delete(id)
      await (await run)?.close()
    },
    adoptAll: () => adoptRuns(machine, supervisor, updates),
    async close() {
      closing.abort()
      waits.close()
      await Promise.all([...runs.values()].map(async (run) => (await run).close()))
      await updates.ended()
    },
  }
  return supervisor
}
