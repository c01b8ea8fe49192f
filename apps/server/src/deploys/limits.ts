import { ProblemError } from '@stackquay/contract'

/** So many in a minute, of each key. In memory: a restart forgives. */
export function createRateLimit(most: number, now: () => Date): { take(key: string): void; look(key: string): void } {
  const windows = new Map<string, { from: number; count: number }>()
  const windowOf = (key: string) => {
    const time = now().getTime()
    const known = windows.get(key)
    if (known !== undefined && time - known.from < minuteMs && time >= known.from) return known
    const fresh = { from: time, count: 0 }
    windows.delete(key)
    windows.set(key, fresh)
    for (const oldest of windows.keys()) {
      if (windows.size <= mostKeys) break
      windows.delete(oldest)
    }
    return fresh
  }
  const refuseAt = (window: { from: number; count: number }) => {
    if (window.count < most) return
    const seconds = Math.max(1, Math.ceil((window.from + minuteMs - now().getTime()) / 1000))
    throw new ProblemError('throttled', `More than ${most} in a minute. Try again in ${seconds} seconds.`, {
      headers: { 'retry-after': String(seconds) },
    })
  }
  return {
    /** Throws `throttled` where there were too many already. */
    look: (key) => refuseAt(windowOf(key)),
    take: (key) => {
      const window = windowOf(key)
      refuseAt(window)
      window.count += 1
    },
  }
}

const minuteMs = 60_000
const mostKeys = 5000
