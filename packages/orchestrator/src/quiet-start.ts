import type { Step, Workload, WorkloadRef } from '@stackquay/engine-api'
import type { SupervisorOptions } from './supervisor.ts'

export interface QuietStart {
  /** Asked when the queue is free. */
  mayStart(): Promise<boolean>
  /** Which of the steps of a start are done. */
  readonly kinds: readonly Step['do'][]
  readonly deadline: AbortSignal | null
}

/** Starts it when the queue is free and `mayStart` says so then. Answers the workload once it was started. */
export async function startQuietly(
  options: SupervisorOptions,
  ref: WorkloadRef,
  { mayStart, kinds, deadline }: QuietStart,
): Promise<Workload | null> {
  const { queues, signal } = options
  for (;;) {
    await queues.whenFree(ref.project)
    if (signal.aborted || !(await mayStart())) return null
    let started: Workload | null = null
    const isDone = await queues.enterQuietly(ref.project, async (queueSignal) => {
      const workload = await options.wanted(ref)
      if (workload === null) return
      await applySteps(options, workload, kinds, anyOf(queueSignal, signal, deadline))
      started = workload
    })
    // An operation that arrived meanwhile may have been about another workload: it is looked at again.
    if (isDone) return started
  }
}

/** Those of the steps of its start that are of these kinds. */
export async function applySteps(
  { engine, reveal }: Pick<SupervisorOptions, 'engine' | 'reveal'>,
  workload: Workload,
  kinds: readonly Step['do'][],
  signal: AbortSignal,
): Promise<void> {
  const context = { signal, output: () => undefined, reveal }
  for (const step of engine.plan({ type: 'start', workload }))
    if (kinds.includes(step.do)) await engine.apply(step, context)
}

function anyOf(...signals: readonly (AbortSignal | null)[]): AbortSignal {
  return AbortSignal.any(signals.filter((one) => one !== null))
}
