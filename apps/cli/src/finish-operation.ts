import { followOperation } from '@stackquay/client'
import type { OperationRecord, Problem } from '@stackquay/contract'
import type { Context } from './context.ts'
import { CliError, usageError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { logText } from './output/plain-text.ts'
import { liveProgress, type Progress, plainProgress, silentProgress } from './output/progress.ts'
import { duration, parseDuration } from './output/time.ts'

export interface WaitFlags {
  readonly wait?: boolean
  readonly timeout?: string
}

export const defaultTimeout = '30m'

/**
 * Waits for the end of an operation and shows how it goes. Throws when it failed, was cancelled, took longer than this
 * wants to wait, or the person pressed Ctrl-C; in the last two cases the operation goes on.
 */
export async function finishOperation(
  context: Context,
  operation: { readonly id: string },
  flags: WaitFlags = {},
): Promise<OperationRecord> {
  const client = await context.client()
  const limit = timeoutOf(flags)
  const deadline = AbortSignal.timeout(limit)
  const progress = progressOf(context)
  try {
    const last = await followOperation(client, operation.id, {
      signal: AbortSignal.any([context.signal, deadline]),
      onChange: progress.update,
      onOutput: progress.output,
      onReachable: progress.reachable,
    })
    progress.end()
    if (last.state !== 'succeeded') throw operationError(last, context)
    return last
  } catch (error) {
    progress.end()
    if (context.signal.aborted) throw detached(operation.id, 'No longer watching.', exitCodes.interrupted)
    if (deadline.aborted) throw detached(operation.id, `It did not end within ${duration(limit)}.`, exitCodes.timedOut)
    throw error
  }
}

/** The same for an answer that may or may not have started work. */
export async function finishProject(
  context: Context,
  project: { readonly operation: OperationRecord | null },
  flags: WaitFlags,
): Promise<void> {
  if (project.operation !== null && flags.wait !== false) await finishOperation(context, project.operation, flags)
}

/** The result of a command that does not wait: the operation. */
export function takenOn(context: Context, operation: { readonly id: string }): void {
  context.result(operation, () => (context.quiet ? operation.id : `The service has taken it on: ${operation.id}`))
}

function timeoutOf({ timeout = defaultTimeout }: WaitFlags): number {
  const limit = parseDuration(timeout)
  if (limit === null || limit === 0) throw usageError(`"${timeout}" is not a duration.`, 'Examples: 90s, 10m, 1h30m')
  return Math.min(limit, 2 ** 31 - 1)
}

function progressOf({ json, quiet, world, noteStyle }: Context): Progress {
  if (json || quiet) return silentProgress
  return (noteStyle.columns === null ? plainProgress : liveProgress)(world.stderr, noteStyle, world.now)
}

function detached(
  id: string,
  what: string,
  exitCode: typeof exitCodes.interrupted | typeof exitCodes.timedOut,
): CliError {
  return new CliError(`${what} The operation ${id} continues.`, {
    exitCode,
    hint: `See it with "stq operations", watch it again with "stq operations wait ${id}", or end it with "stq operations cancel ${id}".`,
  })
}

function operationError(operation: OperationRecord, { noteStyle }: Context): CliError {
  if (operation.state === 'cancelled')
    return new CliError(`The operation ${operation.id} was cancelled.`, { exitCode: exitCodes.failed })
  const problem = operation.error as Problem | null
  if (problem === null)
    return new CliError(`The operation ${operation.id} failed without saying why.`, { exitCode: exitCodes.failed })
  const colours = noteStyle.colors.isColorSupported
  const output = Array.isArray(problem.logTail)
    ? problem.logTail
    : (operation.steps.findLast(({ state }) => state === 'failed')?.output ?? [])
  return new CliError(problem.detail, {
    // The operation failed; that its reason has the shape of a 404 or 409 says nothing about the request.
    exitCode: exitCodes.failed,
    problem,
    // What was not found is no project that could be looked for in a list.
    ...(problem.code === 'not_found' ? { hint: problem.hint } : {}),
    excerpt: output.slice(-20).map((line) => noteStyle.colors.dim(`│ ${logText(String(line), colours)}`)),
  })
}
