import type { ProjectAnswers } from '../projects/answers.ts'
import { exportHandlers } from './export-handler.ts'
import { type ImportDeps, importHandlers } from './import-handler.ts'

/** Databases out of a project and into one. */
export function dumpHandlers(deps: ImportDeps, answers: ProjectAnswers) {
  return { ...exportHandlers(deps, answers), ...importHandlers(deps, answers) }
}
