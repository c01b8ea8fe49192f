import { type Problem, ProblemError, problemOf, type Run, type TestCounts } from '@stackquay/contract'
import type { CommandState } from '@stackquay/engine-api'
import type { RunChange } from '@stackquay/store'

/** A problem as it stands in a row. */
export type RunError = NonNullable<Run['error']>

export type RunOutcome = Required<Pick<RunChange, 'exitCode' | 'signal' | 'error' | 'counts'>> & {
  readonly state: 'succeeded' | 'failed' | 'cancelled'
}

/** What the results of a test run said, or why they could not be read. */
export type ReadResults =
  | { readonly counts: TestCounts; readonly problem: null }
  | { readonly counts: null; readonly problem: RunError }

/**
 * What came of a run whose command has ended. Failed tests fail a run whatever its exit code says. Results that cannot be
 * read change nothing about it: the exit code decides, and `error` says why there are no counts.
 */
export function outcomeOf(
  command: Pick<CommandState, 'cause' | 'exit'>,
  results: ReadResults | null,
  maxMinutes: number,
  ownLimitSeconds: number | null = null,
): RunOutcome {
  const exit = { exitCode: command.exit?.code ?? null, signal: command.exit?.signal ?? null }
  const counts = results?.counts ?? null
  switch (command.cause) {
    case 'cancelled':
      return { state: 'cancelled', ...exit, error: null, counts }
    case 'timeout':
    case 'idle':
      return { state: 'failed', ...exit, error: tookTooLong(maxMinutes, ownLimitSeconds), counts }
    case 'lost':
    case null:
      return { state: 'failed', ...exit, error: lost(), counts }
    case 'exited': {
      const isGood = exit.exitCode === 0 && (counts?.failed ?? 0) === 0
      const error = command.exit?.outOfMemory === true ? ranOutOfMemory() : (results?.problem ?? null)
      return { state: isGood ? 'succeeded' : 'failed', ...exit, error, counts }
    }
    default:
      return command.cause satisfies never
  }
}

/** It ended before there was a command, or nobody knows of one. */
export function withoutCommand(state: 'failed' | 'cancelled', error: RunError | null): RunOutcome {
  return { state, exitCode: null, signal: null, error, counts: null }
}

export function interrupted(detail: string): RunError {
  return runError(problemOf(new ProblemError('interrupted', detail, { hint: 'Run it again.' })))
}

function lost(): RunError {
  return interrupted('The command was lost, because the machine was restarted or what held it was killed.')
}

function ranOutOfMemory(): RunError {
  return runError(problemOf(new ProblemError('out_of_memory', 'It was ended because it used more memory than it may.')))
}

function tookTooLong(maxMinutes: number, ownSeconds: number | null): RunError {
  if (ownSeconds !== null) {
    const detail = `It ran longer than ${ownSeconds} seconds, its time limit, and was ended.`
    return runError(
      problemOf(new ProblemError('deadline_exceeded', detail, { hint: 'Make it shorter, or raise its timeLimit.' })),
    )
  }
  const error = new ProblemError('deadline_exceeded', `It ran longer than ${maxMinutes} minutes and was ended.`, {
    hint: 'Make it shorter, or let the administrator raise STACKQUAY_RUN_MAX_MINUTES.',
  })
  return runError(problemOf(error))
}

export function runError({ errors, ...problem }: Problem): RunError {
  return { ...problem, ...(errors === undefined ? {} : { errors: errors.map((error) => ({ ...error })) }) }
}
