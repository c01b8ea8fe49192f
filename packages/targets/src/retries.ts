import { setTimeout as sleep } from 'node:timers/promises'
import { type Target, TargetError } from './target.ts'

export interface RetryOptions {
  /** Milliseconds before each further attempt. */
  readonly pauses?: readonly number[]
  /** Told before a pause. */
  readonly onRetry?: (error: TargetError, pauseMs: number) => void
}

/** About ten minutes in all: a router that restarts, a machine that boots. */
export const usualPauses: readonly number[] = [1, 2, 5, 10, 30, 60, 120, 180, 180].map((seconds) => seconds * 1000)

/** The same target; what fails for a while is tried again, each call for itself. All else ends at once. */
export function withRetries(target: Target, { pauses = usualPauses, onRetry }: RetryOptions = {}): Target {
  const again = async <Result>(signal: AbortSignal, call: () => Promise<Result>): Promise<Result> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await call()
      } catch (error) {
        const pause = pauses[attempt]
        if (!(error instanceof TargetError) || !error.retryable || pause === undefined) throw error
        // Not all at the same moment, after a target was away for everybody.
        const pauseMs = pause * (0.75 + Math.random() / 2)
        onRetry?.(error, pauseMs)
        await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted())
      }
    }
  }
  return {
    put: (name, bytes, signal) => again(signal, () => target.put(name, bytes, signal)),
    get: (name, mostBytes, signal) => again(signal, () => target.get(name, mostBytes, signal)),
    stat: (name, signal) => again(signal, () => target.stat(name, signal)),
    list: (folder, signal) => again(signal, () => target.list(folder, signal)),
    folders: (folder, signal) => again(signal, () => target.folders(folder, signal)),
    changedAt: (folder, signal) => again(signal, () => target.changedAt(folder, signal)),
    remove: (name, signal) => again(signal, () => target.remove(name, signal)),
    freeBytes: (signal) => again(signal, () => target.freeBytes(signal)),
    close: () => target.close(),
  }
}
