import type { ProjectPatch } from '@stackquay/contract'
import type { Handlers } from '../../http/handler.ts'
import type { ProjectAnswers } from '../answers.ts'
import { applyAndRevertHandlers } from './apply-and-revert.ts'
import { createHandlers } from './create-project.ts'
import { deleteHandler } from './delete-project.ts'
import type { ProjectsDeps } from './deps.ts'
import { duplicateHandler } from './duplicate-project.ts'
import { listHandler } from './list-projects.ts'
import { operationHandlers } from './operations.ts'
import { startAndStopHandlers } from './start-and-stop.ts'
import { withoutReadOnly } from './without-read-only.ts'

type ProjectHandlers = ReturnType<typeof createHandlers> &
  ReturnType<typeof startAndStopHandlers> &
  ReturnType<typeof operationHandlers> &
  ReturnType<typeof applyAndRevertHandlers> &
  Pick<Handlers, 'listProjects' | 'getProject' | 'updateProject' | 'deleteProject' | 'duplicateProject'>

export function projectHandlers(deps: ProjectsDeps, answers: ProjectAnswers): ProjectHandlers {
  const { model } = deps
  const { find, record, holds, change } = answers
  return {
    ...createHandlers(deps, answers),
    ...startAndStopHandlers(deps, answers),
    ...operationHandlers(deps, answers),
    ...applyAndRevertHandlers(deps, answers),
    listProjects: listHandler(deps),
    deleteProject: deleteHandler(deps, answers),
    duplicateProject: duplicateHandler(deps, answers),

    getProject: async ({ params }) => {
      const row = await find(params.id)
      if (model.find(row.id)?.row.revision !== row.revision) await model.renew(row.id)
      const body = record(row.id)
      return { status: 200, body, etag: String(body.generation), isLive: true }
    },

    updateProject: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      return change(row, withoutReadOnly(body as ProjectPatch), context, 'project.update', query, {
        purge: query.purge,
      })
    },
  }
}
