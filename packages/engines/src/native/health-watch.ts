import type { Leader } from './family.ts'
import { type CheckResult, healthChecker } from './health.ts'
import type { Machine } from './machine.ts'
import type { RunRecord } from './record.ts'
import { pause } from './time.ts'

const FAILURES_TO_UNHEALTHY = 3

/** Checks a run as its record asks for. Resolves after the first check. */
export function watchHealth(
  machine: Machine,
  record: RunRecord,
  leader: Leader,
  signal: AbortSignal,
  report: (result: CheckResult) => void,
): Promise<void> {
  const { health, wasHealthy } = record
  if (health.kind === 'none') return Promise.resolve()
  const check = healthChecker(machine, leader, record.ports, health)
  // Many processes at a second's interval must cost nothing; only on Linux is it free.
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
