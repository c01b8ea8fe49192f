import { ProblemError } from '@stackquay/contract'
import { reachOf } from '@stackquay/domain'
import type { OperationRow, Store } from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { requireProject } from '../../http/rights.ts'
import { cancelWaiting, isMerged } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import type { ChangeDeps } from '../change-project.ts'
import { isEnded, operationView } from '../view.ts'

export function operationHandlers(
  { store, model, orchestrator }: Pick<ChangeDeps, 'store' | 'model' | 'orchestrator'>,
  { wait }: ProjectAnswers,
): Pick<Handlers, 'listOperations' | 'getOperation' | 'cancelOperation'> {
  return {
    listOperations: async ({ query }, { principal }) => {
      const { limit = 50, cursor, state, active } = query
      const restricted = reachOf(principal) ?? undefined
      const project = await projectAskedFor(query.project, restricted, store)
      const rows = await store.operations.list({
        limit: limit + 1,
        ...(cursor === undefined ? {} : { cursor }),
        ...(project === undefined ? {} : { project }),
        ...(restricted === undefined ? {} : { projects: restricted }),
        ...(state === undefined ? {} : { state }),
        ...(active === undefined ? {} : { active }),
      })
      const shown = rows.slice(0, limit)
      const nextCursor = rows.length > limit ? shown.at(-1)!.id : null
      return { status: 200, body: { items: shown.map(operationView), nextCursor } }
    },

    getOperation: async ({ params, query }, context) => {
      const operation = await findOperation(params.op, context, store, 'read')
      return { status: 200, body: operationView(await wait(operation, query.wait, context)) }
    },

    cancelOperation: async ({ params, query }, context) => {
      const operation = await findOperation(params.op, context, store, 'operate')
      if (isEnded(operation)) return { status: 200, body: operationView(operation) }
      const { id, project, kind } = operation
      const entry = { action: 'operation.cancel', target: id, project, operationId: id, changes: { kind } }
      const dropped = await store.transaction(async (tx) => {
        await tx.audit.append(context.audit(entry))
        const now = await store.operations.find(id)
        return now?.state === 'queued' && isMerged(now) ? cancelWaiting(tx, now) : null
      })
      if (dropped !== null) {
        orchestrator.drop(id)
        if (project !== null) await model.renew(project)
        model.operationEnded(id, project)
        return { status: 200, body: operationView(dropped) }
      }
      orchestrator.cancel(id)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

async function projectAskedFor(
  idOrSlug: string | undefined,
  restricted: readonly string[] | undefined,
  store: Store,
): Promise<string | undefined> {
  if (idOrSlug === undefined) return undefined
  const project = (await store.projects.find(idOrSlug))?.id ?? idOrSlug
  if (restricted !== undefined && !restricted.includes(project))
    throw new ProblemError('project_forbidden', 'This project is closed to you.')
  return project
}

async function findOperation(
  id: string,
  context: RequestContext,
  store: Store,
  scope: 'read' | 'operate',
): Promise<OperationRow> {
  const operation = await store.operations.find(id)
  requireProject(context, operation?.project ?? null, scope)
  if (operation === null) throw new ProblemError('not_found', `There is no operation "${id}".`)
  return operation
}
