import { noCrashes, planRestart } from '@stackquay/domain'
import {
  type ApplyContext,
  type Engine,
  EngineError,
  type EngineEvent,
  type Exit,
  exitText,
  type LogLine,
  type Observed,
  type Step,
  type Workload,
  type WorkloadRef,
} from '@stackquay/engine-api'
import type { Observations } from './observations.ts'
import type { ProjectQueues } from './project-queues.ts'
import type { Watch, Watches } from './watches.ts'

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

/** A start by itself, which runs no jobs, is not waited for any longer. */
const quietMs = 30_000

/** Starts again what ended by itself, with growing waits, and gives up on what does not stay up. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { engine, queues, observations, watches, now, signal } = options
  const { find, set, giveUp } = watches
  const deciding = new Set<string>()

  signal.addEventListener('abort', watches.stop)

  /** What an operation does is looked at by itself when it ends; what is seen before is only to be shown. */
  const look = async (project: string): Promise<void> => {
    if (!queues.isFree(project)) observations.refreshSoon(project)
    else await observations.refresh(project)
  }

  const stateOf = async (ref: WorkloadRef): Promise<Observed['state'] | undefined> =>
    (await observations.refresh(ref.project)).find((one) => one.ref.workload === ref.workload)?.state

  const apply = async (workload: Workload, kinds: readonly Step['do'][], until: AbortSignal) => {
    const context = { signal: until, output: () => undefined, reveal: options.reveal }
    for (const step of engine.plan({ type: 'start', workload }))
      if (kinds.includes(step.do)) await engine.apply(step, context)
  }

  /** Starts it when the queue is free and `mayStart` says so then. Answers the workload once it was started. */
  const startQuietly = async (
    ref: WorkloadRef,
    mayStart: () => Promise<boolean>,
    how: { readonly kinds: readonly Step['do'][]; readonly deadline: AbortSignal | null },
  ): Promise<Workload | null> => {
    for (;;) {
      await queues.whenFree(ref.project)
      if (signal.aborted || !(await mayStart())) return null
      let started: Workload | null = null
      const isDone = await queues.enterQuietly(ref.project, async (queueSignal) => {
        const workload = await options.wanted(ref)
        if (workload === null) return
        await apply(workload, how.kinds, anyOf(queueSignal, signal, how.deadline))
        started = workload
      })
      // An operation that arrived meanwhile may have been about another workload: it is looked at again.
      if (isDone) return started
    }
  }

  const restart = async (ref: WorkloadRef) => {
    const scheduled = find(ref)
    if (scheduled === undefined || signal.aborted) return
    const trying: Watch = { ...scheduled, timer: null }
    set(ref, trying)
    const mayStart = async () => {
      const state = await stateOf(ref)
      return find(ref) === trying && state !== 'running' && state !== 'waiting'
    }
    let workload: Workload | null = null
    try {
      workload = await startQuietly(ref, mayStart, { kinds: ['start'], deadline: AbortSignal.timeout(quietMs) })
    } catch (error) {
      await failedToStart(ref, error)
    } finally {
      // Looked at first: what was seen last is a workload on its way up, which without a planned restart means one that failed.
      await lookAgain(ref)
      if (find(ref) === trying) set(ref, { ...trying, supervision: { ...trying.supervision, nextRestartAt: null } })
    }
    if (workload !== null) await becomeReady(ref, workload)
  }

  /** Outside the queue: a workload that this one waits for may have to be started meanwhile. */
  const becomeReady = async (ref: WorkloadRef, workload: Workload) => {
    const before = find(ref)
    try {
      await apply(workload, ['ready'], signal)
    } catch (error) {
      if (find(ref) === before) await failedToStart(ref, error)
    } finally {
      await lookAgain(ref)
    }
  }

  const failedToStart = async (ref: WorkloadRef, error: unknown) => {
    // A program that ended is heard of as an event of its own, and counted there.
    if (signal.aborted || (error instanceof EngineError && error.code === 'exited_early')) return
    // One that runs and does not answer says so in its status until it does; that is no fault of the service.
    if (!(error instanceof EngineError) || error.code !== 'never_ready') options.onError(error, ref)
    giveUp(ref, ...failureOf(error))
    await lookAgain(ref)
  }

  const lookAgain = async (ref: WorkloadRef) => {
    await observations.refresh(ref.project).catch((error: unknown) => options.onError(error, ref))
  }

  const exited = async ({ ref, exit }: Extract<EngineEvent, { type: 'exited' }>) => {
    const key = keyOf(ref)
    const before = observations.of(ref.project).find((one) => one.ref.workload === ref.workload)
    const startedAt = watches.startedAt(ref) ?? (before?.state === 'running' ? Date.parse(before.since) : now())
    const crashedAt = now()
    await look(ref.project).catch((error: unknown) => options.onError(error, ref))
    if (deciding.has(key)) return
    deciding.add(key)
    try {
      // An operation decides first. It may have started it again, given it up, or been about something else.
      await queues.whenFree(ref.project)
      if (signal.aborted || (await stateOf(ref)) !== 'exited') return
      await decide(ref, exit, startedAt, crashedAt)
    } finally {
      deciding.delete(key)
    }
  }

  const decide = async (ref: WorkloadRef, exit: Exit, startedAt: number, crashedAt: number) => {
    const workload = await options.wanted(ref)
    if (workload === null || workload.restart.kind === 'never') return
    const logTail = await lastLines(engine, ref, signal)
    const watch = find(ref)
    if (watch?.timer != null || watch?.supervision.gaveUp === true) return
    const decision = planRestart(watch?.history ?? noCrashes, startedAt, crashedAt)
    const what = `It ${exitText(exit, workload.run)}`
    if (!decision.restart) {
      const times = decision.history.crashes.length
      giveUp(ref, `${what}, ${times} times in a row, and is not started again by itself.`, logTail)
      return
    }
    const timer = setTimeout(
      () => void restart(ref).catch((error: unknown) => options.onError(error, ref)),
      decision.afterMs,
    )
    timer.unref()
    set(ref, {
      history: decision.history,
      timer,
      supervision: {
        restarts: (watch?.supervision.restarts ?? 0) + 1,
        nextRestartAt: new Date(now() + decision.afterMs).toISOString(),
        gaveUp: false,
        reason: `${what}.`,
        logTail,
      },
    })
  }

  const unblocked = async (ref: WorkloadRef) => {
    const mayStart = async () => {
      const state = await stateOf(ref)
      return (state === 'waiting' || state === 'stopped') && (await options.wanted(ref)) !== null
    }
    try {
      // Its jobs have deadlines of their own; installing takes as long as it takes.
      const workload = await startQuietly(ref, mayStart, { kinds: ['job', 'start'], deadline: null })
      if (workload !== null) await becomeReady(ref, workload)
    } catch (error) {
      if (signal.aborted || (error instanceof EngineError && error.code === 'exited_early')) return
      options.onError(error, ref)
      giveUp(ref, ...failureOf(error))
      await lookAgain(ref)
    }
  }

  return {
    handle: async (event) => {
      switch (event.type) {
        case 'exited':
          return exited(event)
        case 'unblocked':
          return unblocked(event.ref)
        case 'healthy': {
          const watch = find(event.ref)
          if (watch !== undefined && watch.timer === null && watch.supervision.reason !== null) {
            set(event.ref, {
              ...watch,
              supervision: { ...watch.supervision, gaveUp: false, reason: null, logTail: [] },
            })
          }
          return look(event.ref.project)
        }
        case 'started':
          watches.started(event.ref, now())
          return look(event.ref.project)
        case 'unhealthy':
        case 'limited':
          return look(event.ref.project)
        default:
          event satisfies never
      }
    },
  }
}

const keyOf = (ref: WorkloadRef) => `${ref.project}/${ref.workload}`

function anyOf(...signals: readonly (AbortSignal | null)[]): AbortSignal {
  return AbortSignal.any(signals.filter((one) => one !== null))
}

function failureOf(error: unknown): readonly [reason: string, logTail: readonly string[]] {
  return [error instanceof Error ? error.message : String(error), error instanceof EngineError ? error.logTail : []]
}

async function lastLines(engine: Engine, ref: WorkloadRef, signal: AbortSignal): Promise<readonly string[]> {
  const lines: LogLine[] = []
  try {
    for await (const line of engine.logs(ref, { tail: 20 }, signal)) lines.push(line)
  } catch {
    // A log that cannot be read must not keep a crash from being reported.
  }
  return lines.map((line) => line.text)
}
