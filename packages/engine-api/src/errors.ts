/**
 * An engine's answer when it cannot do something. `code` is stable and becomes the problem's code; `message` says
 * what is true, `hint` what a person can do. `retryable` says whether waiting helps.
 */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: EngineErrorCode
  readonly hint: string
  readonly retryable: boolean
  /** Last lines of output of the program or job that failed. */
  readonly logTail: readonly string[]

  constructor(
    code: EngineErrorCode,
    message: string,
    options: { hint: string; retryable?: boolean; logTail?: readonly string[]; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.hint = options.hint
    this.retryable = options.retryable ?? false
    this.logTail = options.logTail ?? []
  }
}

/** The error of an engine that runs programs of its machine, when it gets a container. */
export function noImages(): EngineError {
  return new EngineError('engine_cannot', 'This engine runs programs of its machine, and no images.', {
    hint: 'Move the project to an engine that runs images.',
  })
}

export type EngineErrorCode =
  | 'port_in_use'
  | 'program_not_found'
  | 'image_not_found'
  | 'image_unavailable'
  | 'job_failed'
  | 'job_timeout'
  | 'exited_early'
  | 'never_ready'
  | 'disk_full'
  | 'engine_unavailable'
  | 'engine_cannot'
  | 'aborted'
  | 'io_failed'
  | 'invalid_position'
  | 'invalid_archive'
