import type { ApplyContext, Engine, EngineEvent, Workload, WorkloadRef } from '@stackquay/engine-api'
import { createCrashHandler } from './crashes.ts'
import { lookAt } from './looks.ts'
import type { Observations } from './observations.ts'
import type { ProjectQueues } from './project-queues.ts'
import { startUnblocked } from './starts.ts'
import type { Watches } from './watches.ts'

export interface SupervisorOptions {
  readonly engine: Engine
  readonly queues: ProjectQueues
  readonly observations: Observations
  readonly watches: Watches
  readonly reveal: ApplyContext['reveal']
  /** The workload as it is wanted now, or null when it is not to run. */
  wanted(ref: WorkloadRef): Promise<Workload | null>
  /** For the log of the service. */
  onError(error: unknown, ref: WorkloadRef): void
  readonly now: () => number
  readonly signal: AbortSignal
}

/** Events of an engine about one of its workloads. */
export type WorkloadEvent = Extract<EngineEvent, { readonly ref: WorkloadRef }>

export interface Supervisor {
  handle(event: WorkloadEvent): Promise<void>
}

/** Starts again what ended by itself, with growing waits, and gives up on what does not stay up. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { watches, now, signal } = options
  const exited = createCrashHandler(options)
  signal.addEventListener('abort', watches.stop)
  return {
    handle: async (event) => {
      switch (event.type) {
        case 'exited':
          return exited(event)
        case 'unblocked':
          return startUnblocked(options, event.ref)
        case 'healthy':
          watches.healthy(event.ref)
          return lookAt(options, event.ref.project)
        case 'started':
          watches.started(event.ref, now())
          return lookAt(options, event.ref.project)
        case 'unhealthy':
        case 'limited':
          return lookAt(options, event.ref.project)
        default:
          event satisfies never
      }
    },
  }
}
