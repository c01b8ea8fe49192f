import { ArchiveError } from '@stackquay/archive'
import { type Problem, ProblemError, problemKinds, problemOf } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { FilesError } from '@stackquay/engines'
import { ChangedError, StoreBusyError, StoreFullError, TakenError } from '@stackquay/store'
import { TargetError } from '@stackquay/targets'
import { archiveProblem } from './archive-problem.ts'
import { filesProblem } from './files-problem.ts'
import { targetProblem } from './target-problem.ts'

export interface ProblemAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly problem: Problem
}

export function problemAnswer(error: ProblemError, request: { requestId: string; path: string }): ProblemAnswer {
  return {
    status: problemKinds[error.code].status,
    headers: { 'content-type': 'application/problem+json', ...error.headers },
    problem: problemOf(error, { requestId: request.requestId, instance: request.path }),
  }
}

/** What anything thrown means to the caller. Whatever nobody foresaw is `internal_error` and says nothing of its inside. */
export function problemErrorOf(thrown: unknown): ProblemError {
  if (thrown instanceof ProblemError) return thrown
  if (thrown instanceof TakenError) return new ProblemError('conflict', thrown.message, { cause: thrown })
  if (thrown instanceof ChangedError) {
    return new ProblemError('precondition_failed', 'It was changed by somebody else just now.', { cause: thrown })
  }
  if (thrown instanceof StoreFullError) return new ProblemError('disk_full', thrown.message, { cause: thrown })
  if (thrown instanceof StoreBusyError) return new ProblemError('unavailable', thrown.message, { cause: thrown })
  if (thrown instanceof EngineError) return fromEngine(thrown)
  if (thrown instanceof FilesError) return filesProblem(thrown)
  if (thrown instanceof ArchiveError) return archiveProblem(thrown)
  if (thrown instanceof TargetError) return targetProblem(thrown)
  return (
    fromFramework(thrown) ??
    new ProblemError('internal_error', 'The request could not be completed.', { cause: thrown })
  )
}

/** An engine's codes are ours, but for positions, which only a caller can have wrong, and for archives, which are backups here. */
function fromEngine(error: EngineError): ProblemError {
  const code =
    error.code === 'invalid_position'
      ? 'invalid_request'
      : error.code === 'invalid_archive'
        ? 'backup_damaged'
        : error.code
  return new ProblemError(code, error.message, {
    hint: error.hint,
    ...(error.logTail.length > 0 ? { extensions: { logTail: error.logTail } } : {}),
    cause: error,
  })
}

/** Fastify's own refusals carry a code and a client status; their texts are safe to show. */
function fromFramework(thrown: unknown): ProblemError | null {
  if (!(thrown instanceof Error) || !('code' in thrown) || !/^FST_(ERR|STATIC)_/.test(String(thrown.code))) return null
  switch (thrown.code) {
    // What the file server will not even look for: dots and backslashes that could lead out of its folder.
    case 'FST_STATIC_FORBIDDEN_PATH':
      return new ProblemError('not_found', 'There is nothing at this path.', { cause: thrown })
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ProblemError('too_large', 'The body is larger than 1 MiB.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ProblemError('unsupported_media_type', 'The body’s Content-Type is not one the service reads.')
    default: {
      const status = 'statusCode' in thrown ? Number(thrown.statusCode) : 500
      return status >= 400 && status < 500
        ? new ProblemError('invalid_request', `${thrown.message}.`, { cause: thrown })
        : null
    }
  }
}
