import { ProblemError } from '@stackquay/contract'

/**
 * Five failures in 15 minutes are free; then every further one closes the key for 30 s, 60 s … up to 15 minutes.
 * Kept in memory: a restart forgives, which is no gain for an attacker who cannot restart the service.
 */
export interface Throttle {
  /**
   * Counts an attempt against every key before it is made, so that parallel attempts cannot slip through together.
   * Answers the seconds to wait when one of the keys is closed; then nothing is counted.
   */
  attempt(keys: readonly string[]): number
  /** The attempt was right: takes back what `attempt` counted. */
  succeed(keys: readonly string[]): void
  /** Forgets a key altogether. */
  forgive(key: string): void
}

export function createThrottle(now: () => number): Throttle {
  const histories = new Map<string, History>()
  return {
    attempt(keys) {
      const time = now()
      const wait = Math.max(...keys.map((key) => secondsToWait(histories.get(key), time)))
      if (wait > 0) return wait
      for (const key of keys) {
        const next = afterFailure(histories.get(key), time)
        histories.delete(key)
        histories.set(key, next)
      }
      shrink(histories)
      return 0
    },
    succeed(keys) {
      for (const key of keys) {
        const history = histories.get(key)
        if (history) histories.set(key, { ...history, failures: history.failures - 1, closedUntil: 0 })
      }
    },
    forgive(key) {
      histories.delete(key)
    },
  }
}

/** Throws `throttled` when there is something to wait for. */
export function pass(secondsToWait: number): void {
  if (secondsToWait === 0) return
  throw new ProblemError('throttled', `Too many failed attempts. Try again in ${secondsToWait} seconds.`, {
    headers: {
      'retry-after': String(secondsToWait),
      'ratelimit-policy': `"failures";q=${freeFailures};w=${windowSeconds}`,
      ratelimit: `"failures";r=0;t=${secondsToWait}`,
    },
  })
}

export const freeFailures = 5
export const windowSeconds = 15 * 60

interface History {
  readonly failures: number
  readonly last: number
  readonly closedUntil: number
}

export function afterFailure(history: History | undefined, now: number): History {
  const past = history && !isOver(history, now) ? history : { failures: 0, closedUntil: 0 }
  const failures = past.failures + 1
  const beyond = failures - freeFailures
  if (beyond < 0) return { ...past, failures, last: now }
  const penalty = Math.min(30 * 2 ** beyond, windowSeconds)
  return { failures, last: now, closedUntil: now + penalty * 1000 }
}

function isOver({ last, closedUntil }: History, now: number): boolean {
  return now > Math.max(last, closedUntil) + windowSeconds * 1000
}

function secondsToWait(history: History | undefined, now: number): number {
  return history === undefined ? 0 : Math.max(0, Math.ceil((history.closedUntil - now) / 1000))
}

/** Whoever tries from ever new addresses must not fill the memory; the longest untouched go first. */
function shrink(histories: Map<string, History>): void {
  for (const key of histories.keys()) {
    if (histories.size <= 10_000) return
    histories.delete(key)
  }
}

/** A single IPv6 machine owns a whole /64; all of it counts as one address. */
export function addressKey(ip: string): string {
  if (!ip.includes(':')) return `address ${ip}`
  const [head = '', tail] = ip.split('%')[0]!.split('::')
  const left = head.split(':').filter((part) => part !== '')
  const right = tail === undefined ? [] : tail.split(':').filter((part) => part !== '')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].map((part) =>
    part.replace(/^0+(?=.)/, '').toLowerCase(),
  )
  return `address ${groups.slice(0, 4).join(':')}::/64`
}
