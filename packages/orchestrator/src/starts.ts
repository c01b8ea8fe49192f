import { EngineError, type Workload, type WorkloadRef } from '@stackquay/engine-api'
import { lookAgain, stateOf } from './looks.ts'
import { applySteps, type QuietStart, startQuietly } from './quiet-start.ts'
import type { SupervisorOptions } from './supervisor.ts'

/** A start by itself, which runs no jobs, is not waited for any longer. */
const quietMs = 30_000

/** Starts again what ended by itself: its wait is over. */
export async function restart(options: SupervisorOptions, ref: WorkloadRef): Promise<void> {
  const { watches, signal } = options
  const attempt = signal.aborted ? null : watches.attempt(ref)
  if (attempt === null) return
  const mayStart = async () => {
    const state = await stateOf(options, ref)
    return attempt.isCurrent() && state !== 'running' && state !== 'waiting'
  }
  await watches.whileStarting(ref, async () => {
    const deadline = AbortSignal.timeout(quietMs)
    const workload = await startOrGiveUp(options, ref, { mayStart, kinds: ['start'], deadline })
    // Looked at first: what was seen last may be from before the start, which without a planned one would look like a failure.
    await lookAgain(options, ref)
    attempt.end()
    if (workload !== null) await becomeReady(options, ref, workload)
  })
}

/** Starts what waited for a file that is there now. */
export async function startUnblocked(options: SupervisorOptions, ref: WorkloadRef): Promise<void> {
  const mayStart = async () => {
    const state = await stateOf(options, ref)
    return (state === 'waiting' || state === 'stopped') && (await options.wanted(ref)) !== null
  }
  await options.watches.whileStarting(ref, async () => {
    // Its jobs have deadlines of their own; installing takes as long as it takes.
    const workload = await startOrGiveUp(options, ref, { mayStart, kinds: ['job', 'start'], deadline: null })
    if (workload !== null) await becomeReady(options, ref, workload)
  })
}

/** Answers the workload once it was started, and null when it was not. */
async function startOrGiveUp(
  options: SupervisorOptions,
  ref: WorkloadRef,
  start: QuietStart,
): Promise<Workload | null> {
  try {
    return await startQuietly(options, ref, start)
  } catch (error) {
    await failedToStart(options, ref, error)
    return null
  }
}

/** Outside the queue: a workload that this one waits for may have to be started meanwhile. */
async function becomeReady(options: SupervisorOptions, ref: WorkloadRef, workload: Workload): Promise<void> {
  const { watches, signal } = options
  const before = watches.find(ref)
  try {
    await applySteps(options, workload, ['ready'], signal)
  } catch (error) {
    if (watches.find(ref) === before) await failedToStart(options, ref, error)
  } finally {
    await lookAgain(options, ref)
  }
}

async function failedToStart(options: SupervisorOptions, ref: WorkloadRef, error: unknown): Promise<void> {
  const code = error instanceof EngineError ? error.code : null
  // A program that ended is heard of as an event of its own, and counted there.
  if (options.signal.aborted || code === 'exited_early') return
  // One that runs and does not answer says so in its status until it does; that is no fault of the service.
  if (code !== 'never_ready') options.onError(error, ref)
  const reason = error instanceof Error ? error.message : String(error)
  options.watches.giveUp(ref, reason, error instanceof EngineError ? error.logTail : [])
  await lookAgain(options, ref)
}
