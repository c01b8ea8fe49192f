import type { Problem } from '@stackquay/contract'
import type { CommandRef, Engine, SecretRef } from '@stackquay/engine-api'
import type { Accounts, UserFiles } from '@stackquay/engines'
import { DeadlineError } from '@stackquay/orchestrator'
import type { RunChange, RunRow, Store, TestCaseRow } from '@stackquay/store'
import { problemOfFailure } from '../projects/progress-log.ts'
import type { Resolver } from '../projects/resolver.ts'
import type { Workers } from '../workers/workers.ts'
import { concluded } from './conclude-run.ts'
import { followToEnd } from './follow-command.ts'
import { prepareAndStart } from './prepare-run.ts'
import type { ResultsFolders } from './results-folder.ts'
import { interrupted, type RunOutcome, runError, withoutCommand } from './run-outcome.ts'
import { planOf, type RunPlan } from './run-plan.ts'
import type { TestEnvironment, TestEnvironments } from './test-environments.ts'

export interface CarryOutDeps {
  readonly store: Pick<Store, 'projects' | 'runs'>
  readonly engine: Engine
  readonly resolver: Pick<Resolver, 'commands'>
  readonly accounts: Accounts
  readonly files: UserFiles
  readonly testEnvironments: TestEnvironments
  readonly workers: Pick<Workers, 'run'>
  readonly results: ResultsFolders
  /** What is set now: it holds for the runs that begin. */
  readonly maxMinutes: () => number
  reveal(ref: SecretRef): Promise<string>
  /** Leases, secrets and folders that the project's environment names. */
  provision(project: string, signal: AbortSignal): Promise<unknown>
  /** Runs work in which nothing else changes the project. */
  exclusively<T>(project: string, work: () => Promise<T>): Promise<T>
  onError(error: unknown, what: string): void
}

export interface RunProgress {
  /** Aborts when somebody cancels the run. */
  readonly cancel: AbortSignal
  /** Aborts when the service ends: everything stays as it is, and is taken up by the next start. */
  readonly life: AbortSignal
  /** Writes down and tells. */
  write(change: Omit<RunChange, 'plan'> & { readonly plan?: Partial<RunPlan> }): Promise<RunRow>
  /** The command runs now: there is output to follow. */
  started(): void
}

export interface CarriedOut {
  readonly outcome: RunOutcome
  /** Of a test run whose results could be read. */
  readonly cases: readonly Omit<TestCaseRow, 'position'>[] | null
}

/**
 * Carries a run out from wherever it is: prepares it, starts its command, follows that to its end, reads its results. Begun
 * again after a crash it prepares anew unless there is a command, and never starts a second one. Throws only when the service
 * is ending.
 */
export async function carryOut(row: RunRow, progress: RunProgress, deps: CarryOutDeps): Promise<CarriedOut> {
  const { engine, testEnvironments } = deps
  const ref: CommandRef = { project: row.project, id: row.id }
  let data: TestEnvironment | null = null
  try {
    if (!(await isHeld(row, ref, engine))) {
      const stopped = AbortSignal.any([progress.cancel, progress.life])
      const deadline = startDeadline(deps.maxMinutes())
      try {
        data = await prepareAndStart(row, ref, AbortSignal.any([stopped, deadline.signal]), progress, deps)
      } catch (error) {
        progress.life.throwIfAborted()
        await endForGood(engine, ref, progress.life)
        return failedBefore(deadline.signal.aborted ? deadline.signal.reason : error, progress.cancel, deps)
      } finally {
        deadline.clear()
      }
    }
    progress.started()
    const command = await followToEnd(engine, ref, progress, deps.onError)
    if (command === null) {
      const outcome = progress.cancel.aborted
        ? withoutCommand('cancelled', null)
        : withoutCommand('failed', interrupted('Nobody knows of its command any more.'))
      return { outcome, cases: null }
    }
    return await concluded(row.id, ref, command, progress, deps)
  } finally {
    // When only the service ends, the command goes on and needs its data.
    if (row.kind === 'test' && !progress.life.aborted) {
      await (data === null ? testEnvironments.closeLeft(row.id) : data.close()).catch((error: unknown) =>
        deps.onError(error, `deleting the data of the test run ${row.id}`),
      )
    }
  }
}

/**
 * Whether the engine has its command, running or ended. A start that was cut off leaves none, and starting what was started
 * already changes nothing: so a run that was about to begin may begin again.
 */
async function isHeld(row: RunRow, ref: CommandRef, { commands }: Engine): Promise<boolean> {
  return planOf(row).begun && (await commands.find(ref)) !== null
}

/** A start that was cut off may have succeeded all the same: nothing of it may be left. */
async function endForGood({ commands }: Engine, ref: CommandRef, signal: AbortSignal): Promise<void> {
  if ((await commands.find(ref)) !== null) await commands.end(ref, signal)
}

function failedBefore(error: unknown, cancel: AbortSignal, deps: CarryOutDeps): CarriedOut {
  if (cancel.aborted) return { outcome: withoutCommand('cancelled', null), cases: null }
  const problem: Problem = problemOfFailure(error)
  if (problem.code === 'internal_error') deps.onError(error, 'preparing a run')
  return { outcome: withoutCommand('failed', runError(problem)), cases: null }
}

function startDeadline(minutes: number): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const error = new DeadlineError(`Its preparation took longer than ${minutes} minutes.`)
  const timer = setTimeout(() => controller.abort(error), minutes * 60_000).unref()
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}
