import type { ProjectAnswers } from '../projects/answers.ts'
import { cloneHandler } from './clone-handler.ts'
import { restoreSnapshotHandler } from './restore-handler.ts'
import { type SnapshotDeps, snapshotHandlers } from './snapshot-handlers.ts'

/** Fast copies of databases. */
export function allSnapshotHandlers(deps: SnapshotDeps, answers: ProjectAnswers) {
  return {
    ...snapshotHandlers(deps, answers),
    ...restoreSnapshotHandler(deps, answers),
    ...cloneHandler(deps, answers),
  }
}
