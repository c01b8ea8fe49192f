import type { Step } from './change.ts'
import { EngineError } from './errors.ts'
import { aborted, pause, rejectOnAbort } from './fake-waits.ts'

/** A kind of step, or the id of one. */
export type StepName = Step['do'] | (string & {})

/** What a test asks to go wrong. */
export interface FakeFaults {
  /** The next step of that kind (or with that id) fails, once. */
  failNext(step: StepName, error?: EngineError): void
  /** The next step of that kind (or with that id) goes on until it is aborted or `release` is called. `reached` ends when it does. */
  hangNext(step: StepName): { release(): void; readonly reached: Promise<void> }
  /** From now on every step takes so long. */
  slow(milliseconds: number): void
}

/** The faults, and the act that lets a step meet those that are meant for it. */
export function createFakeFaults(): FakeFaults & { meet(step: Step, signal: AbortSignal): Promise<void> } {
  const failures = new Map<string, EngineError>()
  const hangs = new Map<string, { readonly over: Promise<void>; reach(): void }>()
  let delay = 0
  return {
    async meet(step, signal) {
      if (signal.aborted) throw aborted()
      if (delay > 0) await pause(delay, signal)
      const hang = take(hangs, step)
      hang?.reach()
      if (hang !== undefined) await Promise.race([hang.over, rejectOnAbort(signal)])
      const failure = take(failures, step)
      if (failure !== undefined) throw failure
    },
    failNext(step, error = plannedFailure()) {
      failures.set(step, error)
    },
    hangNext(step) {
      const over = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      hangs.set(step, { over: over.promise, reach: reached.resolve })
      return { release: over.resolve, reached: reached.promise }
    },
    slow(milliseconds) {
      delay = milliseconds
    },
  }
}

function take<T>(from: Map<string, T>, step: Step): T | undefined {
  const key = from.has(step.id) ? step.id : step.do
  const value = from.get(key)
  from.delete(key)
  return value
}

function plannedFailure(): EngineError {
  return new EngineError('io_failed', 'The fake engine fails, as the test asked.', {
    hint: 'Try again.',
    retryable: true,
  })
}
