import type { ProjectAnswers } from '../projects/answers.ts'
import { createBrowsers } from './browsers.ts'
import { fileHandlers } from './file-handlers.ts'
import type { FindDeps } from './find-browser.ts'
import { keyHandlers } from './key-handlers.ts'
import { queryHandlers } from './query-handlers.ts'
import { rowHandlers } from './row-handlers.ts'
import { savedQueryHandlers } from './saved-query-handlers.ts'

/** Looking into databases of projects. */
export function databaseBrowserHandlers(given: Omit<FindDeps, 'browsers'>, answers: ProjectAnswers) {
  const deps: FindDeps = { ...given, browsers: createBrowsers() }
  return {
    ...rowHandlers(deps, answers),
    ...fileHandlers(deps, answers),
    ...queryHandlers(deps, answers),
    ...savedQueryHandlers(deps, answers),
    ...keyHandlers(deps, answers),
  }
}
