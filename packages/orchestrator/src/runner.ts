import { setTimeout as sleep } from 'node:timers/promises'
import type { Observations } from './observations.ts'
import type { OrchestratorOptions, QueuedOperation } from './orchestrator.ts'
import { runOperation, type StepRecord } from './run-operation.ts'
import type { Outcome, Work } from './work.ts'

/** An operation that was handed in and has not ended. */
export interface Submitted {
  readonly controller: AbortController
  readonly ended: Promise<void>
  readonly end: () => void
  /** On the clock of `performance.now()`. */
  restUntil: number
}

/** Ends when no request was merged into it for a moment, or when it is asked to end. */
async function rested(submitted: Submitted): Promise<void> {
  const { signal } = submitted.controller
  for (;;) {
    const left = submitted.restUntil - performance.now()
    if (left <= 0 || signal.aborted) return
    await sleep(left, undefined, { signal }).catch(() => undefined)
  }
}

/** An operation that ended the service this often is not tried again. */
const maxAttempts = 3

export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
}
/** Why an operation is let go: it goes on at the next start. */
export const closing = new Error('the service is ending')
export const dropped = new Error('it was cancelled before it began')

/** Runs one operation to its end, in its project's turn. */
export function createRunner(
  options: Pick<OrchestratorOptions, 'progressLog' | 'work' | 'onError' | 'hasNoRoom' | 'now'>,
  observations: Observations,
): (operation: QueuedOperation, submitted: Submitted) => Promise<void> {
  const { progressLog, now } = options
  const settle = async (work: Work, outcome: Outcome): Promise<Outcome> => {
    try {
      await work.settle(outcome)
      return outcome
    } catch (error) {
      options.onError(error, 'settling an operation')
      return outcome.state === 'succeeded' ? { state: 'failed', error } : outcome
    }
  }

  const end = (operation: QueuedOperation, { controller }: Submitted, outcome: Outcome, steps: readonly StepRecord[]) =>
    untilWritten(() => progressLog.ended(operation.id, outcome, steps), controller.signal, options)

  return async (operation: QueuedOperation, submitted: Submitted) => {
    const { controller } = submitted
    await rested(submitted)
    // It waited for its turn until the service ended: that is no attempt.
    if (controller.signal.reason === closing) throw closing
    if (controller.signal.reason === dropped) return
    if (operation.attempts >= maxAttempts) {
      const error = new InterruptedError(`The service was ended ${operation.attempts} times while this ran.`)
      // Written down before anything else is tried: what ended the service may be in there too.
      await progressLog.ended(operation.id, { state: 'failed', error }, [])
      await settle(await options.work(operation.id), { state: 'failed', error })
      return
    }
    if (!(await progressLog.started(operation))) return
    let work: Work
    try {
      work = await options.work(operation.id)
    } catch (error) {
      await end(operation, submitted, { state: 'failed', error }, [])
      return
    }
    const { outcome, steps } = await runOperation({
      operation: operation.id,
      work,
      progressLog,
      signal: controller.signal,
      now,
    })
    // What follows an outcome (clean-up, the wanted state) must not be lost to an error of its own.
    const { project } = operation
    if (project !== null)
      await observations.current(project).catch((error: unknown) => options.onError(error, `looking at ${project}`))
    const settled = await settle(work, outcome)
    await end(operation, submitted, settled, steps)
  }
}

/**
 * The end of an operation is written down as soon as it can be: on a full disk when there is room again. Else it would hold its project
 * until the service starts again. It is let go when the service ends before that.
 */
async function untilWritten(
  write: () => Promise<void>,
  signal: AbortSignal,
  { hasNoRoom, onError }: Pick<OrchestratorOptions, 'hasNoRoom' | 'onError'>,
): Promise<void> {
  for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await write()
    } catch (error) {
      if (signal.reason === closing || hasNoRoom?.(error) !== true) throw error
      onError(error, 'writing down the end of an operation')
      // One that was cancelled has an aborted signal, and waits as well.
      const until = signal.aborted ? undefined : signal
      await sleep(pauseMs, undefined, { signal: until, ref: false }).catch(() => undefined)
    }
  }
}

/** So that a person who made room need not wait. */
const longestPauseMs = 5_000
