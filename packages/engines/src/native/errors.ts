import { EngineError } from '@stackquay/engine-api/errors'

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function isMissing(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** `null` instead of an error when the file is not there. */
export async function orNull<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** A refusal of the machine, in words for the person who must act. Engine errors pass unchanged. */
export function asEngineError(error: unknown, signal: AbortSignal): EngineError {
  if (error instanceof EngineError) return error
  if (signal.aborted) return abortedError()
  const code = errorCode(error)
  const message = error instanceof Error ? error.message : String(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new EngineError('disk_full', `The disk is full (${message}).`, {
      hint: 'Free some space, for example by deleting projects or old logs, then try again.',
      retryable: true,
      cause: error,
    })
  }
  if (code === 'EMFILE' || code === 'ENFILE' || code === 'EAGAIN' || code === 'ENOMEM') {
    return new EngineError('io_failed', `The machine is out of a resource (${message}).`, {
      hint: 'Stop some projects, or raise the limits of open files, processes and memory.',
      retryable: true,
      cause: error,
    })
  }
  return new EngineError('io_failed', message, {
    hint: 'See the message; check the permissions of the path it names.',
    cause: error,
  })
}

export function abortedError(): EngineError {
  return new EngineError('aborted', 'The step was cancelled.', {
    hint: 'Start it again when you want it done.',
    retryable: true,
  })
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortedError()
}
