import { setTimeout as sleep } from 'node:timers/promises'

export interface WaitOptions {
  /** Default 10 seconds. */
  readonly timeoutMs?: number
  /** Default 25 milliseconds. */
  readonly everyMs?: number
  readonly signal?: AbortSignal
}

/**
 * Asks again and again until the answer is neither undefined, null nor false, and answers it. An error counts as "not yet"
 * and is the cause of the failure when time is up. `what` completes "waited … for".
 */
export async function waitFor<T>(
  what: string,
  ask: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, undefined | null | false>> {
  const { timeoutMs = 10_000, everyMs = 25, signal } = options
  const deadline = performance.now() + timeoutMs
  let last: unknown
  for (;;) {
    signal?.throwIfAborted()
    try {
      last = undefined
      const answer = await ask()
      if (answer !== undefined && answer !== null && answer !== false)
        return answer as Exclude<T, undefined | null | false>
    } catch (error) {
      last = error
    }
    if (performance.now() >= deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`, { cause: last })
    await sleep(everyMs, undefined, signal === undefined ? {} : { signal })
  }
}
