/** Resolves after the time or when the signal aborts, whichever is first; never rejects. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Time before try number `failures + 1`: doubling from 250 ms to 10 s, and spread so that many callers do not come at once. */
export function backoff(failures: number, chance: number = Math.random()): number {
  const full = Math.min(10_000, 250 * 2 ** Math.max(0, failures - 1))
  return Math.round(full * (0.5 + chance / 2))
}

/** The signal, with the time that a stream has to open: a network that swallows packets answers neither yes nor no. */
export function soon({ openWithin = 30_000 }: { readonly openWithin?: number }, signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(openWithin)])
}
