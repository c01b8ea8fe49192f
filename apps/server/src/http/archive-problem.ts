import type { ArchiveError } from '@stackquay/archive'
import { type ProblemCode, ProblemError } from '@stackquay/contract'

/** What went wrong with a backup's archive, for the person who must act. */
export function archiveProblem(error: ArchiveError): ProblemError {
  const extensions = error.part === null ? {} : { part: error.part }
  return new ProblemError(codes[error.code], error.message, { extensions, cause: error })
}

const codes: Readonly<Record<ArchiveError['code'], ProblemCode>> = {
  damaged: 'backup_damaged',
  invalid: 'backup_damaged',
  newer: 'backup_damaged',
  exists: 'conflict',
  not_found: 'not_found',
  too_large: 'too_large',
  disk_full: 'disk_full',
  compression_failed: 'io_failed',
  locked: 'backup_locked',
}
