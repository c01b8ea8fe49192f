import type { Exit } from '@stackquay/engine-api'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { type RunRecord, readRecord, writeRecord } from './record.ts'
import type { RunListener } from './run-monitor.ts'
import { settleRun } from './settle-run.ts'

/** Writes into the records of runs in the background, while they go on. */
export interface RunUpdates {
  /** Aborts when no more may be written. */
  readonly signal: AbortSignal
  later(act: () => Promise<void>): void
  /** Nothing changes where the record is another run's by now, or the change is null. */
  change(record: RunRecord, change: (now: RunRecord) => RunRecord | null): Promise<void>
  /** Resolves when all that was begun has ended. */
  ended(): Promise<void>
}

export function createRunUpdates(machine: Machine, signal: AbortSignal): RunUpdates {
  const background = new Set<Promise<void>>()
  return {
    signal,
    later(act) {
      const work = act().catch(() => {})
      background.add(work)
      void work.finally(() => background.delete(work))
    },
    change: (record, change) =>
      withLock(machine, record.ref, signal, async () => {
        const now = await readRecord(machine.home, record.ref)
        const next = now?.run?.id === record.run?.id && now !== null ? change(now) : null
        if (next !== null) await writeRecord(machine.home, next)
      }),
    async ended() {
      await Promise.all(background)
    },
  }
}

/** Reports what a run's monitor sees, and writes down what must outlive this process. */
export function runReporter(machine: Machine, updates: RunUpdates): RunListener {
  return {
    ended: (record, exit) => updates.later(() => onEnd(machine, record, exit, updates.signal)),
    healthy(record) {
      machine.emit({ type: 'healthy', ref: record.ref })
      updates.later(() => updates.change(record, (now) => (now.wasHealthy ? null : { ...now, wasHealthy: true })))
    },
    unhealthy: (record, reason) => machine.emit({ type: 'unhealthy', ref: record.ref, reason }),
    limited: (record) => machine.emit({ type: 'limited', ref: record.ref }),
  }
}

/** The event comes first, the record after: an observer in between sees the machine itself. */
async function onEnd(machine: Machine, record: RunRecord, exit: Exit, signal: AbortSignal): Promise<void> {
  const now = await readRecord(machine.home, record.ref)
  if (now?.run?.id !== record.run?.id) return
  if (now?.phase !== 'stopping') machine.emit({ type: 'exited', ref: record.ref, exit })
  await withLock(machine, record.ref, signal, () => settleRun(machine, record.ref, record.run?.id ?? '', exit, signal))
}
