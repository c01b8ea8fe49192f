import { type ProblemCode, ProblemError } from '@stackquay/contract'
import type { FilesError } from '@stackquay/engines'

/** What went wrong with files of a project, for the person who must act. */
export function filesProblem(error: FilesError): ProblemError {
  const { code, hint }: { readonly code: ProblemCode; readonly hint: string } =
    error.code === 'disk_full'
      ? { code: 'disk_full', hint: 'Free some space and try again.' }
      : error.code === 'broken' || error.code === 'timeout'
        ? { code: 'unavailable', hint: 'Try again; a program of the project may have kept it from its work.' }
        : { code: 'io_failed', hint: 'Look at the files of the project and their permissions, then try again.' }
  return new ProblemError(code, `The files of the project could not be used. ${error.message}`, { hint, cause: error })
}
