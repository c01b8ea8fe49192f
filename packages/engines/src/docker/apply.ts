import type { ApplyContext, Step } from '@stackquay/engine-api'
import { throwIfAborted } from '../native/errors.ts'
import { deleteData } from './data.ts'
import { asDockerError } from './errors.ts'
import { pullStep } from './images.ts'
import { runJob } from './jobs.ts'
import type { DockerMachine } from './machine.ts'
import { awaitReady } from './ready.ts'
import { removeWorkload } from './remove.ts'
import { startWorkload } from './start.ts'
import { stopWorkload } from './stop.ts'

/** Does one step. Whatever goes wrong comes out as an `EngineError`. */
export async function applyStep(machine: DockerMachine, step: Step, context: ApplyContext): Promise<void> {
  const { daemon } = machine
  const { signal } = context
  try {
    throwIfAborted(signal)
    switch (step.do) {
      case 'stop':
        return await stopWorkload(machine, step.ref, step.stop, signal)
      case 'remove':
        return await removeWorkload(machine, step.ref, signal)
      case 'pull':
        return await pullStep(machine, step, context)
      case 'job':
        return await runJob(machine, step, context)
      case 'start':
        return await startWorkload(machine, step.workload, step.newerImage ?? false, context)
      case 'ready':
        return await awaitReady(machine, step.workload, signal)
      case 'deleteData':
        return await deleteData(daemon, step.project, step.data, signal)
      case 'strays':
        // A container ends with everything in it.
        return
      default:
        return step satisfies never
    }
  } catch (error) {
    throw asDockerError(error, signal)
  }
}
