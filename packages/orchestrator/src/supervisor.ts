import { type CrashHistory, noCrashes, planRestart, type Supervision } from '@stackquay/domain'
import {
  type Engine,
  EngineError,
  type EngineEvent,
  type LogLine,
  type Workload,
  type WorkloadRef,
} from '@stackquay/engine-api'
import type { Lanes } from './lanes.ts'
import type { Observations } from './observations.ts'
import { engineSteps } from './work.ts'

export interface SupervisorOptions {
  readonly engine: Engine
  readonly lanes: Lanes
  readonly observations: Observations
  readonly reveal: Parameters<typeof engineSteps>[2]
  /** The workload as it is wanted now, or null when it is not to run. */
  wanted(ref: WorkloadRef): Promise<Workload | null>
  /** Something about a project's supervision changed. */
  onChange(project: string): void
  /** For the log of the service. */
  onError(error: unknown, ref: WorkloadRef): void
  readonly now: () => number
  readonly signal: AbortSignal
}

export interface Supervisor {
  of(project: string): Readonly<Record<string, Supervision>>
  handle(event: EngineEvent): Promise<void>
  /** A person started, stopped or changed it: what was counted before does not matter any more. */
  reset(project: string, workload?: string): void
  /** It failed to start in an operation: it stays down, with this reason. */
  gaveUp(ref: WorkloadRef, reason: string, logTail: readonly string[]): void
}

interface Watch {
  history: CrashHistory
  supervision: Supervision
  timer: NodeJS.Timeout | null
}

const quietMs = 30_000

/** Starts again what ended by itself, with growing waits, and gives up on what does not stay up. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { engine, lanes, observations, now, signal } = options
  const watches = new Map<string, Map<string, Watch>>()

  const set = (ref: WorkloadRef, watch: Watch) => {
    const ofProject = watches.get(ref.project) ?? new Map<string, Watch>()
    ofProject.set(ref.workload, watch)
    watches.set(ref.project, ofProject)
    options.onChange(ref.project)
  }

  const start = async (ref: WorkloadRef, laneSignal: AbortSignal) => {
    const workload = await options.wanted(ref)
    if (workload === null) return
    const context = {
      signal: AbortSignal.any([laneSignal, signal, AbortSignal.timeout(quietMs)]),
      output: () => undefined,
    }
    for (const step of engineSteps(engine, [{ type: 'start', workload }], options.reveal)) await step.run(context)
  }

  const restart = async (ref: WorkloadRef) => {
    const watch = watches.get(ref.project)?.get(ref.workload)
    if (watch === undefined) return
    watch.timer = null
    set(ref, { ...watch, supervision: { ...watch.supervision, nextRestartAt: null } })
    try {
      const entered = await lanes.enterQuietly(ref.project, (laneSignal) => start(ref, laneSignal))
      // An operation holds the project: it decides what runs.
      if (!entered) return
    } catch (error) {
      // A program that ended is heard of as an event of its own, and counted there.
      if (error instanceof EngineError && (error.code === 'exited_early' || error.code === 'never_ready')) return
      options.onError(error, ref)
      giveUp(
        ref,
        error instanceof Error ? error.message : String(error),
        error instanceof EngineError ? error.logTail : [],
      )
    } finally {
      await observations.refresh(ref.project).catch((error) => options.onError(error, ref))
    }
  }

  const giveUp = (ref: WorkloadRef, reason: string, logTail: readonly string[]) => {
    const watch = watches.get(ref.project)?.get(ref.workload)
    if (watch?.timer != null) clearTimeout(watch.timer)
    set(ref, {
      history: noCrashes,
      timer: null,
      supervision: { restarts: watch?.supervision.restarts ?? 0, nextRestartAt: null, gaveUp: true, reason, logTail },
    })
  }

  const exited = async (event: Extract<EngineEvent, { type: 'exited' }>) => {
    const { ref, exit } = event
    const before = observations.of(ref.project).find((one) => one.ref.workload === ref.workload)
    const startedAt = before === undefined ? now() : Date.parse(before.since)
    await observations.refresh(ref.project)
    if (!lanes.isFree(ref.project)) return
    const workload = await options.wanted(ref)
    if (workload === null || workload.restart.kind === 'never') return
    const watch = watches.get(ref.project)?.get(ref.workload)
    if (watch?.timer != null) return
    const decision = planRestart(watch?.history ?? noCrashes, startedAt, now())
    const logTail = await lastLines(engine, ref, signal)
    const how =
      exit.signal !== null
        ? `ended by ${exit.signal}`
        : exit.code === null
          ? 'ended'
          : `ended with exit code ${exit.code}`
    const restarts = decision.history.crashes.length
    if (!decision.restart) {
      giveUp(ref, `It ${how}, ${restarts} times in a row, and is not started again by itself.`, logTail)
      return
    }
    const timer = setTimeout(() => void restart(ref), decision.afterMs)
    timer.unref()
    set(ref, {
      history: decision.history,
      timer,
      supervision: {
        restarts,
        nextRestartAt: new Date(now() + decision.afterMs).toISOString(),
        gaveUp: false,
        reason: `It ${how}.`,
        logTail,
      },
    })
  }

  return {
    of: (project) =>
      Object.fromEntries([...(watches.get(project) ?? [])].map(([name, watch]) => [name, watch.supervision])),
    handle: async (event) => {
      switch (event.type) {
        case 'exited':
          return exited(event)
        case 'unblocked': {
          if ((await options.wanted(event.ref)) === null) return
          await lanes
            .enterQuietly(event.ref.project, (laneSignal) => start(event.ref, laneSignal))
            .catch((error) => options.onError(error, event.ref))
          await observations.refresh(event.ref.project)
          return
        }
        case 'healthy': {
          const watch = watches.get(event.ref.project)?.get(event.ref.workload)
          if (watch !== undefined && watch.timer === null && watch.supervision.reason !== null) {
            set(event.ref, {
              ...watch,
              supervision: { ...watch.supervision, gaveUp: false, reason: null, logTail: [] },
            })
          }
          await observations.refresh(event.ref.project)
          return
        }
        case 'started':
        case 'unhealthy':
          await observations.refresh(event.ref.project)
          return
        default:
          event satisfies never
      }
    },
    reset: (project, workload) => {
      const ofProject = watches.get(project)
      if (ofProject === undefined) return
      for (const [name, watch] of ofProject) {
        if (workload !== undefined && name !== workload) continue
        if (watch.timer !== null) clearTimeout(watch.timer)
        ofProject.delete(name)
      }
      options.onChange(project)
    },
    gaveUp: giveUp,
  }
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
