import { ApiError, ConnectionError } from '@stackquay/client'
import type { FieldError, Problem } from '@stackquay/contract'
import { type ExitCode, exitCodes } from './exit-codes.ts'

/** Something went wrong that a person can understand; anything else that is thrown is a defect. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: ExitCode
  readonly hint: string | null
  /** Shown between the message and the hint, as it stands. */
  readonly excerpt: readonly string[]
  readonly problem: Problem | null

  constructor(
    message: string,
    options: { exitCode: ExitCode; hint?: string; excerpt?: readonly string[]; problem?: Problem; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.exitCode = options.exitCode
    this.hint = options.hint ?? null
    this.excerpt = options.excerpt ?? []
    this.problem = options.problem ?? null
  }
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, ...(hint === undefined ? {} : { hint }) })
}

/** What went wrong, in the form in which it is printed. */
export interface Report {
  readonly title: string
  readonly detail: string
  readonly hint: string | null
  readonly fields: readonly FieldError[]
  readonly excerpt: readonly string[]
  readonly requestId: string | null
  readonly code: string
  readonly exitCode: ExitCode
}

export function reportOf(error: unknown): Report {
  if (error instanceof CliError && error.problem !== null) {
    return {
      ...reportOfProblem(error.problem, error.exitCode),
      ...(error.excerpt.length === 0 ? {} : { excerpt: error.excerpt }),
      ...(error.hint === null ? {} : { hint: error.hint }),
    }
  }
  if (error instanceof CliError)
    return { ...plain(error.message, error.exitCode), hint: error.hint, excerpt: error.excerpt }
  if (error instanceof ApiError) return reportOfProblem(error.problem, exitCodeOf(error.problem))
  if (error instanceof ConnectionError) return reportOfProblem(error.problem, exitCodes.unreachable)
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { ...plain(`stq itself failed. ${detail}`, exitCodes.failed), code: 'internal_error' }
}

/** For a command that knows better than the service what to do about a refusal. */
export function advise(code: string, hint: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || error.problem.code !== code) throw error
    const { problem } = error
    throw new CliError(problem.detail, { exitCode: exitCodeOf(problem), hint, problem, cause: error })
  }
}

export function exitCodeOf(problem: Problem): ExitCode {
  if (problem.status === 401 || problem.status === 403) return exitCodes.denied
  if (problem.status === 404) return exitCodes.notFound
  if (problem.status === 409 || problem.status === 412) return exitCodes.conflict
  return exitCodes.failed
}

function reportOfProblem(problem: Problem, exitCode: ExitCode): Report {
  return {
    title: problem.title,
    detail: problem.detail,
    hint: hintOf(problem),
    fields: problem.errors ?? [],
    excerpt: Array.isArray(problem.logTail) ? problem.logTail.map(String) : [],
    requestId: problem.requestId ?? null,
    code: problem.code,
    exitCode,
  }
}

/** What the service says where it knows no better. */
export const anyId = 'Check the id.'

/** The service's advice is for every client; where this one has a command for it, that is what a person needs. */
function hintOf(problem: Problem): string {
  if (problem.code === 'unauthorized') return 'Log in with: stq login'
  if (problem.code === 'not_found' && problem.hint === anyId) return 'See what there is: stq list, stq show <project>'
  if (problem.code === 'manifest_invalid') return 'Fix the file, then try again. About it: stq help project-file'
  if (problem.code !== 'busy') return problem.hint
  const blocking = problem.operation
  const id =
    typeof blocking === 'string'
      ? blocking
      : blocking !== null && typeof blocking === 'object' && 'id' in blocking
        ? String(blocking.id)
        : null
  return id === null
    ? problem.hint
    : `Wait for it with "stq operations wait ${id}", or cancel it with "stq operations cancel ${id}".`
}

function plain(detail: string, exitCode: ExitCode): Report {
  return { title: '', detail, hint: null, fields: [], excerpt: [], requestId: null, code: codeName(exitCode), exitCode }
}

function codeName(exitCode: ExitCode): string {
  const entry = Object.entries(exitCodes).find(([, code]) => code === exitCode)
  return entry?.[0] ?? 'failed'
}
