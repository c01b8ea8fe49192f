import type { ProjectAnswers } from '../projects/answers.ts'
import type { ProjectUses } from '../sleep/uses.ts'
import { exportHandlers } from './export-handler.ts'
import { type ImportDeps, importHandlers } from './import-handler.ts'

/** Databases out of a project and into one. */
export function dumpHandlers(
  deps: ImportDeps & { readonly uses: Pick<ProjectUses, 'begin'> },
  answers: ProjectAnswers,
) {
  return { ...exportHandlers(deps, answers), ...importHandlers(deps, answers) }
}
