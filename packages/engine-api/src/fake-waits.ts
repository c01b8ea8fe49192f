import { EngineError } from './errors.ts'

/** Until something happens on the machine, or the signal aborts. */
export function change(listeners: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      listeners.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    listeners.add(done)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}

/** Rejects as aborted when the signal aborts first. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(aborted())
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, milliseconds)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(aborted())
    else signal.addEventListener('abort', () => reject(aborted()), { once: true })
  })
}

export function aborted(): EngineError {
  return new EngineError('aborted', 'The step was cancelled.', {
    hint: 'Start it again when you want it done.',
    retryable: true,
  })
}
