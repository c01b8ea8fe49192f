import { constants } from 'node:os'
import { ApiError, ConnectionError } from '@stackquay/client'
import { CliError, reportOf } from './errors.ts'
import { exitCodes } from './exit-codes.ts'

/** Not an error of stq: a program that ran for the caller has ended, and its exit code is passed on as it is. */
export class ProgramEnded extends Error {
  override readonly name = 'ProgramEnded'
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`The program ended with code ${exitCode}.`)
    this.exitCode = exitCode
  }
}

export interface ProgramExit {
  readonly code: number | null
  readonly signal: string | null
}

/** As a shell tells it: the program's own code, or 128 and the number of the signal that ended it. */
export function exitCodeOfProgram({ code, signal }: ProgramExit): number {
  if (code !== null) return code
  const number = signal === null ? undefined : constants.signals[signal as NodeJS.Signals]
  return number === undefined ? exitCodes.notRun : 128 + number
}

/**
 * What goes wrong with us must not be taken for what the program says: within this, every failure that is not the
 * caller's has the exit code `notRun`.
 */
export async function runningProgram<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof CliError && keptCodes.has(error.exitCode)) throw error
    if (!(error instanceof CliError || error instanceof ApiError || error instanceof ConnectionError)) throw error
    const { detail, hint, excerpt } = reportOf(error)
    throw new CliError(detail, {
      exitCode: exitCodes.notRun,
      ...(hint === null ? {} : { hint }),
      excerpt,
      ...(error.problem === null ? {} : { problem: error.problem }),
      cause: error,
    })
  }
}

const keptCodes: ReadonlySet<number> = new Set([exitCodes.usage, exitCodes.programNotFound, exitCodes.interrupted])
