import { type FakeMachine, keyOf } from './fake-machine.ts'
import { change } from './fake-waits.ts'
import type { FakeWorld } from './fake-world.ts'
import type { LogBatch, LogLine, LogOptions } from './observed.ts'
import type { WorkloadRef } from './workload.ts'

/** The log of a workload, also of one that was removed. */
export function logOf(machine: FakeMachine, ref: WorkloadRef): LogLine[] {
  const known = machine.logs.get(keyOf(ref)) ?? []
  machine.logs.set(keyOf(ref), known)
  return known
}

/** The workload writes a line. */
export function printLine(world: FakeWorld, ref: WorkloadRef, text: string, stream: 'stdout' | 'stderr'): void {
  const { machine, events, now } = world
  const cursor = String(machine.nextCursor++).padStart(12, '0')
  if (machine.workloads.has(keyOf(ref))) logOf(machine, ref).push({ ref, time: now(), stream, text, cursor })
  events.wake()
}

export async function* readFakeLog(
  { machine, events: { listeners } }: FakeWorld,
  ref: WorkloadRef,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogBatch> {
  let after = options.after ?? ''
  const { since = '', until = '9', upTo = '9' } = options
  const news = () =>
    logOf(machine, ref).filter(
      (line) => line.cursor > after && line.cursor <= upTo && line.time >= since && line.time <= until,
    )
  const first = news()
  let batch = options.tail === undefined ? first : first.slice(Math.max(0, first.length - options.tail))
  after = first.at(-1)?.cursor ?? after
  let isReported = false
  while (!signal.aborted) {
    if (batch.length > 0) yield { lines: batch, columns: null }
    if (options.follow !== true) return
    if (batch.length === 0 && isReported) await change(listeners, signal)
    else if (batch.length === 0) yield { lines: [], columns: null }
    isReported = batch.length === 0
    batch = news()
    after = batch.at(-1)?.cursor ?? after
  }
}
