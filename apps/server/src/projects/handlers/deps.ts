import { type AddonDefinition, type FieldError, ProblemError } from '@stackquay/contract'
import type { BackupSchedule } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import type { InstanceIsolation } from '../../isolation/isolation.ts'
import type { ChangeDeps } from '../change-project.ts'
import type { FilesOf } from '../files-of.ts'
import type { Sources } from '../sources.ts'

export interface ProjectsDeps extends ChangeDeps {
  readonly sources: Sources
  readonly filesOf: FilesOf
  readonly seeds: StartSeeds
  /** The schedule of backups that a new project begins with. */
  newSchedule(): Promise<BackupSchedule | null>
  /** The addons of the instance, as they are now. */
  readonly addons: { now(): Readonly<Record<string, AddonDefinition>> }
  readonly isolation: Pick<InstanceIsolation, 'users' | 'engine'>
}

/** Seeds that a start reads into databases that are empty. */
export interface StartSeeds {
  due(row: ProjectRow): Promise<readonly StartSeed[]>
  /** Throws what keeps a new database from being filled. */
  require(row: ProjectRow, due: readonly StartSeed[], signal: AbortSignal): Promise<void>
}

export interface StartSeed {
  /** The workload of the database. */
  readonly data: string
  /** Of the step that reads it. */
  readonly step: string
}

/** One field of a request is not as it must be. */
export function invalid(pointer: string, code: string, detail: string): ProblemError {
  const errors: FieldError[] = [{ pointer, code, detail }]
  return new ProblemError('validation_failed', detail, { errors })
}
