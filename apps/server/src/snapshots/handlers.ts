import type { ProjectAnswers } from '../projects/answers.ts'
import { cloneHandler } from './clone-handler.ts'
import { type ResetDeps, resetHandler } from './reset-handler.ts'
import { restoreSnapshotHandler } from './restore-handler.ts'
import { snapshotHandlers } from './snapshot-handlers.ts'

/** Fast copies of databases. */
export function allSnapshotHandlers(deps: ResetDeps, answers: ProjectAnswers) {
  return {
    ...snapshotHandlers(deps, answers),
    ...restoreSnapshotHandler(deps, answers),
    ...resetHandler(deps, answers),
    ...cloneHandler(deps, answers),
  }
}
