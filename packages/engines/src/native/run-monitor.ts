import type { ChildProcess } from 'node:child_process'
import type { Exit, Observed, PortOwner } from '@stackquay/engine-api'
import { watchDirectory } from './directory-watch.ts'
import { readExit } from './exit-file.ts'
import { type Leader, livingLeader } from './family.ts'
import type { CheckResult } from './health.ts'
import { watchHealth } from './health-watch.ts'
import { type Limited, watchLimits } from './limit-watch.ts'
import { logFiles } from './log-files.ts'
import { type LogRecorder, recordLog } from './log-recorder.ts'
import type { Machine } from './machine.ts'
import type { RunRecord } from './record.ts'
import { runTarget } from './run-target.ts'

/** How soon the end of a process is seen that is no child of this process; normally its exit file shows it at once. */
const ADOPTED_POLL_MS = 250
const LOG_QUIET_MS = 5

/** Watches one living run: its end, its health, the growth of its log. */
export interface RunMonitor {
  readonly record: RunRecord
  readonly leader: Leader
  readonly state: () => RunState
  /** Resolves when the state becomes another one, or the signal aborts. */
  changed(signal: AbortSignal): Promise<void>
  /** After the first health check. */
  readonly checked: Promise<void>
  close(): Promise<void>
}

export interface RunState {
  readonly health: Observed['health']
  readonly reason: string | null
  /** The program that answers on the port of this run in its place. */
  readonly foreign: PortOwner | null
  readonly ended: Exit | null
  /** Where its checked port is reached, once a check passed. */
  readonly host: string | null
  /** What its limits did to it; null when nothing. */
  readonly limited: Limited | null
}

export interface RunListener {
  ended(record: RunRecord, exit: Exit): void
  healthy(record: RunRecord): void
  unhealthy(record: RunRecord, reason: string): void
  limited(record: RunRecord): void
}

export async function monitorRun(
  machine: Machine,
  record: RunRecord,
  leader: Leader,
  child: ChildProcess | null,
  listener: RunListener,
): Promise<RunMonitor> {
  const stopped = new AbortController()
  const limits = watchLimits(runTarget(machine, record.ref).group, () => {
    become({ limited: limits.now() })
    listener.limited(record)
  })
  let state: RunState = {
    health: firstHealth(record),
    reason: null,
    foreign: null,
    ended: null,
    host: null,
    limited: limits.now(),
  }
  let change = Promise.withResolvers<void>()
  const become = (next: Partial<RunState>) => {
    state = { ...state, ...next }
    change.resolve()
    change = Promise.withResolvers<void>()
  }

  const log = record.run?.log === undefined ? null : logFiles(machine, record.ref, record.run.log)
  const recorder: LogRecorder | null = log === null ? null : await recordLog(log, machine).catch(() => null)
  const sample = () => void recorder?.sample().catch(() => {})
  const logWatch = log === null || recorder === null ? null : watchDirectory(log.directory, LOG_QUIET_MS, sample)
  sample()

  const end = async (signal: NodeJS.Signals | null) => {
    if (stopped.signal.aborted || state.ended !== null) return
    const seen = (await readExit(machine, record).catch(() => null)) ?? {
      code: null,
      signal,
      at: machine.now().toISOString(),
    }
    const exit = limits.end(seen)
    if (stopped.signal.aborted || state.ended !== null) return
    become({ ended: exit })
    await close()
    listener.ended(record, exit)
  }
  const onExit = (_code: number | null, signal: NodeJS.Signals | null) => void end(signal)
  child?.once('exit', onExit)
  if (child !== null && (child.exitCode !== null || child.signalCode !== null)) onExit(null, child.signalCode)
  child?.unref()
  const poll =
    child === null
      ? setInterval(() => livingLeader(machine.table, leader) === null && void end(null), ADOPTED_POLL_MS).unref()
      : null
  const checked = watchHealth(machine, record, leader, stopped.signal, (result) => {
    const before = state
    const next = afterCheck(before, result)
    if (next === before) return
    become(next)
    if (next.health === 'healthy' && before.health !== 'healthy') listener.healthy(record)
    if (next.health === 'unhealthy' && before.health !== 'unhealthy') listener.unhealthy(record, next.reason ?? '')
  })

  const close = async () => {
    if (stopped.signal.aborted) return
    stopped.abort()
    child?.removeListener('exit', onExit)
    if (poll !== null) clearInterval(poll)
    limits.close()
    logWatch?.close()
    await recorder?.close().catch(() => {})
  }
  return {
    record,
    leader,
    state: () => state,
    checked,
    changed: (signal) => orAborted(change.promise, signal),
    close,
  }
}

async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>()
  const onAbort = () => aborted.resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([promise, aborted.promise])
  signal.removeEventListener('abort', onAbort)
}

/** The same state when the check said nothing new. */
function afterCheck(state: RunState, result: CheckResult): RunState {
  const failed = state.health === 'starting' ? 'starting' : 'unhealthy'
  const next = result.ok
    ? { ...state, health: 'healthy' as const, reason: null, foreign: null, host: result.host }
    : {
        ...state,
        health: failed as Observed['health'],
        reason: result.reason,
        foreign: result.foreign,
        // Where another program answers by now, no request is led.
        host: result.foreign === null ? state.host : null,
      }
  const isSame =
    next.host === state.host &&
    next.health === state.health &&
    next.reason === state.reason &&
    next.foreign?.pid === state.foreign?.pid
  return isSame ? state : next
}

function firstHealth(record: RunRecord): Observed['health'] {
  if (record.health.kind === 'none') return 'none'
  return record.wasHealthy ? 'healthy' : 'starting'
}
