import type { ProjectAnswers } from '../projects/answers.ts'
import { type CheckpointDeps, checkpointHandlers } from './checkpoint-handlers.ts'
import { restoreCheckpointHandler } from './restore-handler.ts'

/** Whole projects as they were at one moment. */
export function allCheckpointHandlers(deps: CheckpointDeps, answers: ProjectAnswers) {
  return { ...checkpointHandlers(deps, answers), ...restoreCheckpointHandler(deps, answers) }
}
