import type { Engine, Workload, WorkloadRef } from '@stackquay/engine-api'
import { followEngine } from './follow-engine.ts'
import type { Observations } from './observations.ts'
import type { ProjectQueues } from './project-queues.ts'
import { CancelledError, type ProgressLog, type StepRecord } from './run-operation.ts'
import { closing, createRunner, dropped, type Submitted } from './runner.ts'
import { createSupervisor } from './supervisor.ts'
import type { Watches } from './watches.ts'
import type { engineSteps, Outcome, Work } from './work.ts'

/** An operation as the orchestrator needs it. */
export interface QueuedOperation {
  readonly id: string
  /** Null for one that is about no project. */
  readonly project: string | null
  /** It runs after those that were handed in for the same queue: that of its project, if it has one. */
  readonly queue: string
  readonly attempts: number
  /** Its beginning was written down with it. */
  readonly isBegun?: boolean
}

export interface OrchestratorOptions {
  readonly engine: Engine
  readonly queues: ProjectQueues
  readonly observations: Observations
  readonly watches: Watches
  /** Aborted when it is closed: whatever still looks or starts ends with it. */
  readonly life: AbortController
  readonly reveal: Parameters<typeof engineSteps>[2]
  readonly progressLog: ProgressLog & {
    /** From here on nothing is merged into it any more. False when it was cancelled while it waited: then it does not begin. */
    started(operation: QueuedOperation): Promise<boolean>
    ended(operation: string, outcome: Outcome, steps: readonly StepRecord[]): Promise<void>
  }
  /** What an operation does. Throws when that cannot even be decided, which fails the operation. */
  work(operation: string): Promise<Work>
  wanted(ref: WorkloadRef): Promise<Workload | null>
  /** Ids of all projects: they are looked at when an engine is lost, and when it is back. */
  projects(): readonly string[]
  onError(error: unknown, what: string): void
  /** Whether what could not be written down can be when the disk has room again. */
  hasNoRoom?(error: unknown): boolean
  readonly now: () => Date
}

export interface Orchestrator {
  /** Runs a stored operation in its queue. Returns at once. */
  submit(operation: QueuedOperation): void
  /** A request was merged into an operation that waits: it begins when none has come for a moment. */
  postpone(operation: string): void
  /** Whether the operation was still on its way. */
  cancel(operation: string): boolean
  /** One that was cancelled before it began: it takes no turn any more. */
  drop(operation: string): void
  /** Ends when the operation has, or when the signal aborts; whichever is first. */
  ended(operation: string, signal: AbortSignal): Promise<void>
  /** Begins to follow the engine's events. */
  watch(): void
  /** Called when an engine that was lost is back, after all projects were looked at. */
  onReachable(listener: () => Promise<void>): void
  /** Lets running steps end at a safe place and forgets nothing: operations go on at the next start. */
  close(): Promise<void>
}

/** A waiting operation begins so long after the last request that was merged into it. */
const restMs = 100

export function createOrchestrator(options: OrchestratorOptions): Orchestrator {
  const { queues, observations, life, now } = options
  const supervisor = createSupervisor({
    ...options,
    onError: (error, ref) => options.onError(error, `supervising ${ref.workload} of ${ref.project}`),
    now: () => now().getTime(),
    signal: life.signal,
  })
  const listeners: (() => Promise<void>)[] = []
  const active = new Map<string, Submitted>()

  const run = createRunner(options, observations)

  return {
    submit: (operation) => {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const submitted: Submitted = { controller: new AbortController(), ended, end, restUntil: 0 }
      active.set(operation.id, submitted)
      void queues
        .enter(operation.queue, () => run(operation, submitted))
        .catch((error: unknown) => {
          if (error !== closing) options.onError(error, `operation ${operation.id}`)
        })
        .finally(() => {
          active.delete(operation.id)
          end()
        })
    },
    postpone: (id) => {
      const submitted = active.get(id)
      if (submitted !== undefined) submitted.restUntil = performance.now() + restMs
    },
    cancel: (id) => {
      const running = active.get(id)
      running?.controller.abort(new CancelledError('It was cancelled.'))
      return running !== undefined
    },
    drop: (id) => {
      const waiting = active.get(id)
      active.delete(id)
      waiting?.controller.abort(dropped)
      waiting?.end()
    },
    ended: async (id, signal) => {
      const running = active.get(id)
      if (running === undefined || signal.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve(), { once: true })
      await Promise.race([running.ended, promise])
    },
    watch: () => void followEngine(options, supervisor, listeners),
    onReachable: (listener) => {
      listeners.push(listener)
    },
    close: async () => {
      for (const { controller } of active.values()) controller.abort(closing)
      await Promise.allSettled([...active.values()].map((running) => running.ended))
      life.abort(closing)
      await queues.allFree()
    },
  }
}
