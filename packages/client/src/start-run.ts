import type { Run } from '@stackquay/contract'
import { fillPath } from './address.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { type FollowRunOptions, followRun } from './follow-run.ts'
import { routes } from './routes.ts'
import { type ClientOptions, type Request, request } from './transport.ts'
import { backoff, pause } from './wait.ts'

/** What is run: an action, or the tests of a suite. */
export type RunStart = { readonly action: string } | { readonly suite: string; readonly filter?: string | undefined }

export interface StartRunOptions extends FollowRunOptions {
  /** Called once the service has taken it on. */
  readonly onStart?: (run: Run) => void
}

/**
 * Starts a run once, and follows it to its end. It is started by a request of its own with an `Idempotency-Key`, so that
 * neither a lost answer nor a lost stream starts it again. Resolves like `followRun`; the run itself goes on when the
 * signal aborts.
 */
export async function startRun(
  client: ClientOptions,
  project: string,
  what: RunStart,
  options: StartRunOptions,
): Promise<Run | null> {
  const run = await begin(client, requestOf(project, what), options.signal)
  options.onStart?.(run)
  return followRun(client, project, run.id, options)
}

function requestOf(project: string, what: RunStart): Request {
  if ('action' in what) {
    return { ...routes.runAction, path: fillPath(routes.runAction.path, { id: project, action: what.action }) }
  }
  const path = fillPath(routes.runTests.path, { id: project, suite: what.suite })
  return { ...routes.runTests, path, ...(what.filter === undefined ? {} : { body: { filter: what.filter } }) }
}

async function begin(client: ClientOptions, wanted: Request, signal: AbortSignal): Promise<Run> {
  const idempotencyKey = crypto.randomUUID()
  const until = performance.now() + patience
  for (let failures = 1; ; failures++) {
    try {
      return (await request(client, wanted, { signal, idempotencyKey })).data as Run
    } catch (error) {
      if (!isUnsure(error, failures) || performance.now() > until) throw error
      await pause(Math.min(backoff(failures), 2000), signal)
      signal.throwIfAborted()
    }
  }
}

/** The request may have arrived, and only the answer was lost: the same key brings that answer, and nothing is begun twice. */
function isUnsure(error: unknown, failures: number): boolean {
  if (error instanceof ApiError) return error.problem.code === 'idempotency_in_progress'
  if (!(error instanceof ConnectionError)) return false
  // Nothing listens there: that is reported at once, unless an earlier try got through.
  return failures > 1 || !isRefused(error.cause)
}

function isRefused(cause: unknown): boolean {
  const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
  return inner !== null && typeof inner === 'object' && 'code' in inner && inner.code === 'ECONNREFUSED'
}

const patience = 20_000
