import type { HealthCheck } from '@stackquay/engine-api'
import type { Leader } from './family.ts'
import { type CheckResult, healthChecker } from './health.ts'
import type { Machine } from './machine.ts'
import type { RunRecord } from './record.ts'
import { pause } from './time.ts'

const FAILURES_TO_UNHEALTHY = 3
const HTTP_SECONDS = 15
const TCP_SECONDS = 5
/** What just failed, or passes again, is looked at soon. */
const RETRY_SECONDS = 1
/** After a fault so many checks in a row must pass: what passes one and fails the next is not well. */
const PASSES_TO_HEALTHY = 2

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
  return watchChecks({ ...pace(health), wasHealthy, check, isLost, isCertain }, signal, report)
}

/** How often one looks, and how many failures count. */
export function pace(health: Exclude<HealthCheck, { kind: 'none' }>): Pace {
  const { intervalSeconds, failures = FAILURES_TO_UNHEALTHY } = health.kind === 'http' ? health : {}
  return {
    intervalSeconds: intervalSeconds ?? (health.kind === 'http' ? HTTP_SECONDS : TCP_SECONDS),
    // Whoever says how often one looks also says how long it may fail.
    retrySeconds: intervalSeconds ?? RETRY_SECONDS,
    failures,
  }
}

export interface Pace {
  readonly intervalSeconds: number
  /** After a failure. */
  readonly retrySeconds: number
  readonly failures: number
}

type Checked = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/**
 * Checks until the signal aborts. Resolves after the first check. Fewer failures of a healthy program in a row than count are not
 * reported, nor is a single success of one that was reported as unhealthy.
 */
export function watchChecks<Result extends Checked>(
  checks: Pace & {
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
    let failures = checks.wasHealthy ? checks.failures - 1 : 0
    let passed = checks.wasHealthy
    let isDown = false
    let passes = 0
    let seen = 0
    while (!signal.aborted) {
      const result = await checks.check(signal)
      if (signal.aborted) break
      failures = result.ok ? 0 : failures + 1
      seen = result.ok ? 0 : seen + 1
      passes = result.ok ? passes + 1 : 0
      if (result.ok && isDown && passes >= PASSES_TO_HEALTHY) isDown = false
      passed ||= result.ok
      const counts = failures >= checks.failures || checks.isCertain?.(result) === true
      if (result.ok ? !isDown : !passed || counts) report(counted(result, passed ? seen : 0, checks.failures))
      isDown ||= passed && !result.ok && counts
      first.resolve()
      const isPassing = isDown && result.ok
      const isFailing = isDown || failures > 0
      const age = performance.now() - began
      const ms = passed ? nextInMs(checks, isPassing, isFailing) : startingMs(age)
      await nextCheck(ms, checks.isLost, signal)
    }
    first.resolve()
  }
  void loop()
  return first.promise
}

/** The reason says how often, and the same for as long as it fails: a count that goes on would be news with each check. */
function counted<Result extends Checked>(result: Result, failures: number, limit: number): Result {
  if (result.ok || limit < 2 || failures < limit) return result
  return { ...result, reason: `${result.reason.replace(/\.$/, '')}, ${limit} times in a row.` }
}

const LOOK_MS = 1000

async function nextCheck(ms: number, isLost: (() => boolean) | undefined, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= LOOK_MS) {
    await pause(Math.min(left, LOOK_MS), signal)
    if (isLost?.()) return
  }
}

/** Quick while a start is waited for. */
function startingMs(age: number): number {
  return age < 3000 ? 15 : age < 15_000 ? 50 : 250
}

/** Slow when all is well: an HTTP check leaves a line in the program's log. */
function nextInMs({ intervalSeconds, retrySeconds }: Pace, isPassing: boolean, isFailing: boolean): number {
  if (isPassing) return RETRY_SECONDS * 1000
  if (isFailing) return retrySeconds * 1000
  // Projects that started together are not checked together for ever.
  return intervalSeconds * 1000 * (0.9 + 0.2 * Math.random())
}
