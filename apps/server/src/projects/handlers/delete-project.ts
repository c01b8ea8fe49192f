import { ProblemError } from '@stackquay/contract'
import type { OperationRow, ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import type { ProjectAnswers } from '../answers.ts'
import { planOf, queueOperation, refuseBusy, submit } from '../change-project.ts'
import { straysOf } from '../strays.ts'
import { isEnded, operationView } from '../view.ts'
import type { ProjectsDeps } from './deps.ts'

export function deleteHandler(deps: ProjectsDeps, { find, holds, wait }: ProjectAnswers): Handlers['deleteProject'] {
  return async ({ params, query }, context) => {
    const row = await find(params.id)
    holds(row, context)
    const data = query.data ?? 'keep'
    const names = data === 'delete' ? await deps.engine.dataNames(row.id, context.signal) : []
    if (query.dryRun === true) return { status: 200, body: await plan(row, names, deps) }
    if (query.confirm !== row.slug) {
      throw new ProblemError('validation_failed', `Deleting needs ?confirm=${row.slug}.`, {
        errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type the project’s slug: ${row.slug}.` }],
      })
    }
    const operation = await queue(row, data, context, deps)
    try {
      await deps.model.renew(row.id)
    } finally {
      submit(operation, deps)
    }
    const ended = await wait(operation, query.wait, context)
    return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
  }
}

async function plan(
  row: ProjectRow,
  deletesData: readonly string[],
  { model, engine, engines, ...deps }: ProjectsDeps,
) {
  const observed = await deps.orchestrator().observations.refresh(row.id)
  const strays = straysOf(engines.named(row.engine), row.id, { commands: true })
  const nothing = { ...(await model.renew(row.id)).resolved, workloads: [], unresolved: [], errors: [] }
  return planOf(engine, nothing, observed, { goal: 'stopped', ...strays }, { deletesData }).plan
}

function queue(
  row: ProjectRow,
  data: 'keep' | 'delete',
  context: RequestContext,
  { store }: ProjectsDeps,
): Promise<OperationRow> {
  return store.transaction(async (tx) => {
    await refuseBusy(store, row)
    await tx.projects.setLifecycle(row.id, { phase: 'deleting', desired: 'stopped' })
    const queued = await queueOperation(tx, 'delete', row.id, context, { data })
    await tx.audit.append(
      context.audit({
        action: 'project.delete',
        target: row.slug,
        project: row.id,
        operationId: queued.id,
        changes: { data, path: row.path },
      }),
    )
    return queued
  })
}
