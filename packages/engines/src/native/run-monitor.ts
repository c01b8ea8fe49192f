import type { ChildProcess } from 'node:child_process'
import type { Exit, Observed, PortHolder } from '@stackquay/engine-api'
import { watchDirectory } from './directory-watch.ts'
import { readExit } from './exit-file.ts'
import { type Leader, livingLeader } from './family.ts'
import { type CheckResult, healthChecker } from './health.ts'
import { type Limited, watchLimits } from './limit-watch.ts'
import { logFiles } from './log-files.ts'
import { type LogRecorder, recordLog } from './log-recorder.ts'
import type { Machine } from './machine.ts'
import type { RunRecord } from './record.ts'
import { runTarget } from './run-target.ts'
import { pause } from './time.ts'

/** How soon the end of a process is seen that is not our child; normally its exit file tells at once. */
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
  /** Who answers on the port of this run in its place. */
  readonly foreign: PortHolder | null
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
    const before = state.health
    const health = result.ok ? 'healthy' : before === 'starting' ? 'starting' : 'unhealthy'
    const reason = result.ok ? null : result.reason
    const foreign = result.ok ? null : result.foreign
    // Where somebody else answers by now, nobody is led.
    const host = result.ok ? result.host : result.foreign === null ? state.host : null
    if (host === state.host && health === before && reason === state.reason && foreign?.pid === state.foreign?.pid)
      return
    become({ health, reason, foreign, host })
    if (health === 'healthy' && before !== 'healthy') listener.healthy(record)
    if (health === 'unhealthy' && before !== 'unhealthy') listener.unhealthy(record, reason ?? '')
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
    async changed(signal) {
      const aborted = Promise.withResolvers<void>()
      const onAbort = () => aborted.resolve()
      signal.addEventListener('abort', onAbort, { once: true })
      await Promise.race([change.promise, aborted.promise])
      signal.removeEventListener('abort', onAbort)
    },
    close,
  }
}

function firstHealth(record: RunRecord): Observed['health'] {
  if (record.health.kind === 'none') return 'none'
  return record.wasHealthy ? 'healthy' : 'starting'
}

const FAILURES_TO_UNHEALTHY = 3

function watchHealth(
  machine: Machine,
  record: RunRecord,
  leader: Leader,
  signal: AbortSignal,
  report: (result: CheckResult) => void,
): Promise<void> {
  const { health, wasHealthy } = record
  if (health.kind === 'none') return Promise.resolve()
  const check = healthChecker(machine, leader, record.ports, health)
  // Many processes at a second's interval must cost nothing; only Linux tells for nothing.
  const isLost = process.platform === 'linux' ? check.isLost : () => false
  const isCertain = (result: CheckResult) => !result.ok && result.foreign !== null
  return watchChecks({ kind: health.kind, wasHealthy, check, isLost, isCertain }, signal, report)
}

/** Checks until the signal aborts. Resolves after the first check. A single failure of a healthy program is not reported. */
export function watchChecks<Result extends { readonly ok: boolean }>(
  checks: {
    readonly kind: 'tcp' | 'http'
    readonly wasHealthy: boolean
    readonly check: (signal: AbortSignal) => Promise<Result>
    /** Asked every second between checks; the next check comes at once then. */
    readonly isLost?: () => boolean
    /** A failure that is reported the first time. */
    readonly isCertain?: (result: Result) => boolean
  },
  signal: AbortSignal,
  report: (result: Result) => void,
): Promise<void> {
  const first = Promise.withResolvers<void>()
  const began = performance.now()
  const loop = async () => {
    let failures = checks.wasHealthy ? FAILURES_TO_UNHEALTHY - 1 : 0
    let passed = checks.wasHealthy
    while (!signal.aborted) {
      const result = await checks.check(signal)
      if (signal.aborted) break
      failures = result.ok ? 0 : failures + 1
      passed ||= result.ok
      if (result.ok || !passed || failures >= FAILURES_TO_UNHEALTHY || checks.isCertain?.(result)) report(result)
      first.resolve()
      await nextCheck(interval(checks.kind, passed, failures, performance.now() - began), checks.isLost, signal)
    }
    first.resolve()
  }
  void loop()
  return first.promise
}

const LOOK_MS = 1000

async function nextCheck(ms: number, isLost: (() => boolean) | undefined, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= LOOK_MS) {
    await pause(Math.min(left, LOOK_MS), signal)
    if (isLost?.()) return
  }
}

/** Quick while a start is waited for, slow when all is well: an HTTP check leaves a line in the program's log. */
function interval(kind: 'tcp' | 'http', passed: boolean, failures: number, age: number): number {
  if (!passed) return age < 3000 ? 15 : age < 15_000 ? 50 : 250
  if (failures > 0) return 1000
  return kind === 'http' ? 15_000 : 5000
}
