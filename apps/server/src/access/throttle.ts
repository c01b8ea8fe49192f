import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'

/**
 * The first failure of a key costs nothing; the answers to the next four wait 1, 2, 4 and 8 s. Then the key is closed for
 * 30 s, 60 s … up to 15 minutes after each failure. Kept in memory: a restart forgives, which is no gain for an attacker
 * who cannot restart the service.
 */
export interface Throttle {
  /**
   * Counts an attempt before it is made, so that parallel attempts cannot slip through together, and waits as long as its
   * answer has to. Throws `throttled` while the key is closed; nothing is counted then.
   */
  attempt(key: string, signal: AbortSignal): Promise<void>
  /** The attempt was right: forgets the key. */
  succeed(key: string): void
}

export interface ThrottleOptions {
  readonly now?: () => number
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** How many attempts may wait at once; each holds a connection. */
  readonly maxWaiting?: number
  /** How many keys are remembered of each sort: those that are closed, and the others. */
  readonly maxKeys?: number
}

export function createThrottle({
  now = Date.now,
  wait = (ms, signal) => sleep(ms, undefined, { signal }),
  maxWaiting = 128,
  maxKeys = 20_000,
}: ThrottleOptions = {}): Throttle {
  // Apart, so that keys made up by the thousand push out each other and no key that is closed.
  const open = new Map<string, History>()
  const closed = new Map<string, History>()
  let waiting = 0

  return {
    async attempt(key, signal) {
      const id = shortened(key)
      const time = now()
      const past = closed.get(id) ?? open.get(id)
      refuseFor(secondsToWait(past, time))
      const next = afterFailure(past, time)
      const delay = delaySeconds(next.failures)
      if (delay > 0 && waiting >= maxWaiting) refuseFor(delay)
      remember(id, next)
      if (delay === 0) return
      waiting++
      try {
        await wait(delay * 1000, signal)
      } catch {
        throw new ProblemError('aborted', 'The caller went away while the answer was held back.')
      } finally {
        waiting--
      }
    },
    succeed(key) {
      const id = shortened(key)
      open.delete(id)
      closed.delete(id)
    },
  }

  function remember(id: string, history: History): void {
    open.delete(id)
    closed.delete(id)
    const kept = history.closedUntil > 0 ? closed : open
    kept.set(id, history)
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKeys) return
      kept.delete(oldest)
    }
  }
}

/** Throws `throttled` when there is something to wait for. */
function refuseFor(seconds: number): void {
  if (seconds === 0) return
  throw new ProblemError('throttled', `Too many failed attempts. Try again in ${seconds} seconds.`, {
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `"failures";q=${freeFailures};w=${windowSeconds}`,
      ratelimit: `"failures";r=0;t=${seconds}`,
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

function afterFailure(history: History | undefined, now: number): History {
  const past = history && !isOver(history, now) ? history : { failures: 0, closedUntil: 0 }
  const failures = past.failures + 1
  const beyond = failures - freeFailures
  if (beyond < 0) return { ...past, failures, last: now }
  const penalty = Math.min(30 * 2 ** beyond, windowSeconds)
  return { failures, last: now, closedUntil: now + penalty * 1000 }
}

/** After the fifth the key is closed anyhow: an attempt that is let through then answers at once. */
function delaySeconds(failures: number): number {
  return failures < 2 || failures > freeFailures ? 0 : 2 ** (failures - 2)
}

function isOver({ last, closedUntil }: History, now: number): boolean {
  return now > Math.max(last, closedUntil) + windowSeconds * 1000
}

function secondsToWait(history: History | undefined, now: number): number {
  return history === undefined ? 0 : Math.max(0, Math.ceil((history.closedUntil - now) / 1000))
}

/** Keys hold what a caller sent; each takes the same few bytes. */
function shortened(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22)
}

/** The network of a caller: /24 of IPv4, /64 of IPv6, which a single machine owns whole. */
export function networkOf(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  const plain = mapped ?? ip
  if (!plain.includes(':')) return `${plain.split('.').slice(0, 3).join('.')}.0/24`
  const [head = '', tail] = plain.split('%')[0]!.split('::')
  const left = head.split(':').filter((part) => part !== '')
  const right = tail === undefined ? [] : tail.split(':').filter((part) => part !== '')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].map((part) =>
    part.replace(/^0+(?=.)/, '').toLowerCase(),
  )
  return `${groups.slice(0, 4).join(':')}::/64`
}
