import { type FieldError, ProblemError } from '@stackquay/contract'
import type { InstanceIsolation } from '../../isolation/isolation.ts'
import type { ChangeDeps } from '../change-project.ts'
import type { FilesOf } from '../files-of.ts'
import type { Sources } from '../sources.ts'

export interface ProjectsDeps extends ChangeDeps {
  readonly sources: Sources
  readonly filesOf: FilesOf
  readonly isolation: Pick<InstanceIsolation, 'users' | 'engine'>
}

/** One field of a request is not as it must be. */
export function invalid(pointer: string, code: string, detail: string): ProblemError {
  const errors: FieldError[] = [{ pointer, code, detail }]
  return new ProblemError('validation_failed', detail, { errors })
}
