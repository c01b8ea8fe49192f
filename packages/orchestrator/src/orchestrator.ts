import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, Workload, WorkloadRef } from '@stackquay/engine-api'
import { createLanes } from './lanes.ts'
import { createObservations, type Observations } from './observations.ts'
import { CancelledError, type Journal, runOperation, type StepRecord } from './run-operation.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'
import type { engineSteps, Outcome, Work } from './work.ts'

/** An operation as the orchestrator needs it. */
export interface QueuedOperation {
  readonly id: string
  readonly project: string
  readonly attempts: number
}

export interface OrchestratorOptions {
  readonly engine: Engine
  readonly reveal: Parameters<typeof engineSteps>[2]
  readonly journal: Journal & {
    started(operation: string): Promise<void>
    ended(operation: string, outcome: Outcome, steps: readonly StepRecord[]): Promise<void>
  }
  /** What an operation does. Throws when that cannot even be decided, which fails the operation. */
  work(operation: string): Promise<Work>
  wanted(ref: WorkloadRef): Promise<Workload | null>
  /** Ids of all projects: they are looked at when an engine is lost, and when it is back. */
  projects(): readonly string[]
  /** An engine that was lost is back, and all projects were looked at. */
  onReachable?(): Promise<void>
  /** Something that a project's status is derived from changed. */
  onChange(project: string): void
  onError(error: unknown, what: string): void
  readonly now: () => Date
}

export interface Orchestrator {
  readonly observations: Observations
  readonly supervisor: Supervisor
  /** Runs a stored operation in its project's lane. Returns at once. */
  submit(operation: QueuedOperation): void
  /** Whether the operation was still on its way. */
  cancel(operation: string): boolean
  /** Ends when the operation has, or when the signal aborts; whichever is first. */
  ended(operation: string, signal: AbortSignal): Promise<void>
  /** Runs work in a project's lane that is no operation of it, when what is before it has ended. */
  exclusively<T>(project: string, work: () => Promise<T>): Promise<T>
  /** Begins to follow the engine's events. */
  watch(): void
  /** Lets running steps end at a safe place and forgets nothing: operations go on at the next start. */
  close(): Promise<void>
}

/** An operation that ended the service this often is not tried again. */
const maxAttempts = 3

const followAgainMs = 1_000

export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
}
const closing = new Error('the service is ending')

export function createOrchestrator(options: OrchestratorOptions): Orchestrator {
  const { engine, journal, now } = options
  const life = new AbortController()
  const lanes = createLanes()
  const observations = createObservations(engine, life.signal)
  const supervisor = createSupervisor({
    engine,
    lanes,
    observations,
    reveal: options.reveal,
    wanted: options.wanted,
    onChange: options.onChange,
    onError: (error, ref) => options.onError(error, `supervising ${ref.workload} of ${ref.project}`),
    now: () => now().getTime(),
    signal: life.signal,
  })
  observations.onChange(options.onChange)
  const active = new Map<string, { controller: AbortController; ended: Promise<void> }>()

  const run = async (operation: QueuedOperation, controller: AbortController) => {
    // It waited for its turn until the service ended: that is no attempt.
    if (controller.signal.reason === closing) throw closing
    if (operation.attempts >= maxAttempts) {
      const error = new InterruptedError(`The service was ended ${operation.attempts} times while this ran.`)
      // Written down before anything else is tried: what ended the service may be in there too.
      await journal.ended(operation.id, { state: 'failed', error }, [])
      await settle(await options.work(operation.id), { state: 'failed', error })
      return
    }
    await journal.started(operation.id)
    let work: Work
    try {
      work = await options.work(operation.id)
    } catch (error) {
      await journal.ended(operation.id, { state: 'failed', error }, [])
      return
    }
    const { outcome, steps } = await runOperation({
      operation: operation.id,
      work,
      journal,
      signal: controller.signal,
      now,
    })
    // What follows an outcome (clean-up, the wanted state) must not be lost to an error of its own.
    await observations
      .refresh(operation.project)
      .catch((error: unknown) => options.onError(error, `looking at ${operation.project}`))
    const settled = await settle(work, outcome)
    await journal.ended(operation.id, settled, steps)
  }

  const settle = async (work: Work, outcome: Outcome): Promise<Outcome> => {
    try {
      await work.settle(outcome)
      return outcome
    } catch (error) {
      options.onError(error, 'settling an operation')
      return outcome.state === 'succeeded' ? { state: 'failed', error } : outcome
    }
  }

  /** One that cannot be looked at says so in its status. */
  const lookAtAll = () => Promise.allSettled(options.projects().map((project) => observations.refresh(project)))

  /** An engine whose events break off is followed again: without them nothing that crashed would be started. */
  const follow = async () => {
    while (!life.signal.aborted) {
      try {
        for await (const event of engine.watch(life.signal)) {
          if (event.type === 'unreachable' || event.type === 'reachable') {
            void lookAtAll()
              .then(() => (event.type === 'reachable' ? options.onReachable?.() : undefined))
              .catch((error: unknown) => options.onError(error, `the engine is ${event.type}`))
            continue
          }
          supervisor.handle(event).catch((error: unknown) => {
            if (!life.signal.aborted) options.onError(error, `event ${event.type}`)
          })
        }
        return
      } catch (error) {
        if (life.signal.aborted) return
        options.onError(error, 'following the engine')
        await sleep(followAgainMs, undefined, { ref: false })
      }
    }
  }

  return {
    observations,
    supervisor,
    submit: (operation) => {
      const controller = new AbortController()
      const ended = lanes
        .enter(operation.project, () => run(operation, controller))
        .catch((error: unknown) => {
          if (error !== closing) options.onError(error, `operation ${operation.id}`)
        })
        .finally(() => {
          active.delete(operation.id)
          options.onChange(operation.project)
        })
      active.set(operation.id, { controller, ended })
    },
    cancel: (id) => {
      const running = active.get(id)
      running?.controller.abort(new CancelledError('It was cancelled.'))
      return running !== undefined
    },
    ended: async (id, signal) => {
      const running = active.get(id)
      if (running === undefined || signal.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => resolve(), { once: true })
      await Promise.race([running.ended, promise])
    },
    exclusively: (project, work) => lanes.enter(project, work),
    watch: () => void follow(),
    close: async () => {
      for (const { controller } of active.values()) controller.abort(closing)
      await Promise.allSettled([...active.values()].map((running) => running.ended))
      life.abort(closing)
      await lanes.allFree()
    },
  }
}
