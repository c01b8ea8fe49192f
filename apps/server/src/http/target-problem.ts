import { type ProblemCode, ProblemError } from '@stackquay/contract'
import type { TargetError } from '@stackquay/targets'

/** What went wrong with a backup target, for the person who must act. */
export function targetProblem(error: TargetError): ProblemError {
  return new ProblemError(codes[error.code], error.message, { cause: error })
}

const codes: Readonly<Record<TargetError['code'], ProblemCode>> = {
  unreachable: 'target_unreachable',
  refused: 'target_refused',
  missing: 'target_refused',
  not_kept: 'target_refused',
  full: 'target_full',
  host_key: 'target_changed',
  key_changed: 'target_changed',
  locked: 'target_locked',
  damaged: 'backup_damaged',
}
