import { noCrashes, planRestart } from '@stackquay/domain'
import {
  type Engine,
  type EngineEvent,
  type Exit,
  exitText,
  type LogLine,
  type WorkloadRef,
} from '@stackquay/engine-api'
import { lookAt, stateOf } from './looks.ts'
import { restart } from './starts.ts'
import type { SupervisorOptions } from './supervisor.ts'

type Exited = Extract<EngineEvent, { type: 'exited' }>

/** Decides what happens to a workload that ended by itself: it is started again after a wait, or given up. */
export function createCrashHandler(options: SupervisorOptions): (event: Exited) => Promise<void> {
  const { queues, watches, now, signal, onError } = options
  const deciding = new Set<string>()
  return async ({ ref, exit }) => {
    const key = `${ref.project}/${ref.workload}`
    const startedAt = watches.startedAt(ref) ?? runningSince(options, ref) ?? now()
    const crashedAt = now()
    await lookAt(options, ref.project).catch((error: unknown) => onError(error, ref))
    if (deciding.has(key)) return
    deciding.add(key)
    try {
      // An operation decides first. It may have started it again, given it up, or been about something else.
      await queues.whenFree(ref.project)
      if (signal.aborted || (await stateOf(options, ref)) !== 'exited') return
      await decide(options, ref, { exit, startedAt, crashedAt })
    } finally {
      deciding.delete(key)
    }
  }
}

/** In ms since 1970; null when it was not running when it was last seen. */
function runningSince({ observations }: SupervisorOptions, ref: WorkloadRef): number | null {
  const seen = observations.of(ref.project).find((one) => one.ref.workload === ref.workload)
  return seen?.state === 'running' ? Date.parse(seen.since) : null
}

interface Crash {
  readonly exit: Exit
  readonly startedAt: number
  readonly crashedAt: number
}

async function decide(options: SupervisorOptions, ref: WorkloadRef, crash: Crash): Promise<void> {
  const { engine, watches, now, signal, onError } = options
  const workload = await options.wanted(ref)
  if (workload === null || workload.restart.kind === 'never') return
  const logTail = await lastLines(engine, ref, signal)
  const watch = watches.find(ref)
  if (watch?.timer != null || watch?.supervision.gaveUp === true) return
  const decision = planRestart(watch?.history ?? noCrashes, crash.startedAt, crash.crashedAt)
  const what = `It ${exitText(crash.exit, workload.run)}`
  if (!decision.restart) {
    const times = decision.history.crashes.length
    watches.giveUp(ref, `${what}, ${times} times in a row, and is not started again by itself.`, logTail)
    return
  }
  const act = () => void restart(options, ref).catch((error: unknown) => onError(error, ref))
  watches.set(ref, {
    history: decision.history,
    timer: setTimeout(act, decision.afterMs).unref(),
    supervision: {
      restarts: (watch?.supervision.restarts ?? 0) + 1,
      nextRestartAt: new Date(now() + decision.afterMs).toISOString(),
      gaveUp: false,
      reason: `${what}.`,
      logTail,
    },
  })
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
