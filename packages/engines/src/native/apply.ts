import { type ApplyContext, noImages, type Step, type WorkloadRef } from '@stackquay/engine-api'
import { deleteData } from './data.ts'
import { asEngineError, throwIfAborted } from './errors.ts'
import { runJob } from './job.ts'
import type { Machine } from './machine.ts'
import { awaitReady, type TailOf } from './ready.ts'
import { removeWorkload } from './remove.ts'
import { startWorkload } from './start.ts'
import { stopWorkload } from './stop.ts'
import { endStrays } from './strays.ts'
import type { Supervisor } from './supervisor.ts'

export interface ApplyTools {
  readonly tail: TailOf
  /** The log of the workload's living run. */
  readonly liveLog: (ref: WorkloadRef) => Promise<string | null>
}

/** Does one step. Whatever goes wrong comes out as an `EngineError`. */
export async function applyStep(
  machine: Machine,
  supervisor: Supervisor,
  step: Step,
  tools: ApplyTools,
  context: ApplyContext,
): Promise<void> {
  const { signal } = context
  try {
    throwIfAborted(signal)
    switch (step.do) {
      case 'stop':
        return await stopWorkload(machine, supervisor, step.ref, step.stop, signal)
      case 'remove':
        return await removeWorkload(machine, supervisor, step.ref, signal)
      case 'pull':
        throw noImages()
      case 'job':
        return await runJob(machine, step, () => tools.liveLog(step.ref), context)
      case 'start':
        return await startWorkload(machine, supervisor, step.workload, context)
      case 'ready':
        return await awaitReady(machine, supervisor, step.workload, tools.tail, signal)
      case 'strays':
        return await endStrays(machine, step, signal)
      case 'deleteData':
        return await deleteData(machine, step.project, step.data, signal)
      default:
        return step satisfies never
    }
  } catch (error) {
    throw asEngineError(error, signal)
  }
}
