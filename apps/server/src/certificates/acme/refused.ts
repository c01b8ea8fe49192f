import { type FieldError, ProblemError } from '@stackquay/contract'

/** Before anything changed. */
export function refused(errors: readonly FieldError[]): ProblemError {
  return new ProblemError('validation_failed', `Nothing was changed. ${errors[0]?.detail ?? ''}`.trimEnd(), {
    errors: [...errors],
  })
}
