import { ProblemError } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { type Accepted, acceptDelete, begin } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import { planOf, standOf } from '../plan.ts'
import { straysOf } from '../strays.ts'
import { isEnded, operationView } from '../view.ts'
import type { ProjectsDeps } from './deps.ts'

export function deleteHandler(deps: ProjectsDeps, { find, holds, wait }: ProjectAnswers): Handlers['deleteProject'] {
  return async ({ params, query }, context) => {
    const row = await find(params.id)
    holds(row, context)
    const data = query.data ?? 'keep'
    const names = data === 'delete' ? await deps.engine.dataNames(row.id, context.signal) : []
    if (query.dryRun === true) return { status: 200, body: await plan(row, names, query.purge === true, deps) }
    if (query.confirm !== row.slug) {
      throw new ProblemError('validation_failed', `Deleting needs ?confirm=${row.slug}.`, {
        errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type the project’s slug: ${row.slug}.` }],
      })
    }
    const accepted = await accept(row, { data, purge: query.purge === true }, context, deps)
    try {
      await deps.model.renew(row.id)
    } finally {
      begin(accepted, deps)
    }
    const ended = await wait(accepted.operation, query.wait, context)
    return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
  }
}

async function plan(
  row: ProjectRow,
  deletesData: readonly string[],
  purge: boolean,
  { model, engine, engines, ...deps }: ProjectsDeps,
) {
  const { resolved } = await model.renew(row.id)
  const { observed, after } = await standOf(row, resolved, deps)
  const strays = straysOf(engines.named(row.engine), row.id, { commands: true })
  const trashUntil = purge ? null : deps.trashUntil()
  const nothing = { ...resolved, workloads: [], unresolved: [], errors: [] }
  const snapshots = await deps.store.snapshots.of(row.id)
  const shown = { deletesData, snapshots, trashUntil, after }
  return planOf(engine, nothing, observed, { goal: 'stopped', ...strays }, shown).plan
}

function accept(
  row: ProjectRow,
  input: { readonly data: 'keep' | 'delete'; readonly purge: boolean },
  context: RequestContext,
  { store }: ProjectsDeps,
): Promise<Accepted> {
  return store.transaction(async (tx) => {
    const accepted = await acceptDelete(tx, store, row, context, input)
    const phase = (await store.projects.find(row.id))?.phase
    // A creation that is cancelled for it must know that it has to undo what it began.
    await tx.projects.setLifecycle(row.id, {
      ...(phase === 'creating' ? {} : { phase: 'deleting' }),
      desired: 'stopped',
    })
    await tx.audit.append(
      context.audit({
        action: 'project.delete',
        target: row.slug,
        project: row.id,
        operationId: accepted.operation.id,
        changes: { ...input, path: row.path },
      }),
    )
    return accepted
  })
}
