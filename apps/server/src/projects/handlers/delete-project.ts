import { ProblemError } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { type Accepted, acceptDelete, begin } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import type { ChangeDeps } from '../change-project.ts'
import { planOf, standOf } from '../plan.ts'
import { straysOf } from '../strays.ts'
import { isEnded, operationView } from '../view.ts'
import type { ProjectsDeps } from './deps.ts'

export function deleteHandler(deps: ProjectsDeps, { find, holds, wait }: ProjectAnswers): Handlers['deleteProject'] {
  return async ({ params, query }, context) => {
    const row = await find(params.id)
    holds(row, context)
    await refuseWithBranches(row, deps)
    const data = query.data ?? 'keep'
    const names = data === 'delete' ? await deps.engine.dataNames(row.id, context.signal) : []
    if (query.dryRun === true) return { status: 200, body: await plan(row, names, query.purge === true, deps) }
    if (query.confirm !== row.slug) {
      throw new ProblemError('validation_failed', `Deleting needs ?confirm=${row.slug}.`, {
        errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type the project’s slug: ${row.slug}.` }],
      })
    }
    const asked = { data, purge: query.purge === true, action: 'project.delete' }
    const accepted = await beginDeletion(row, asked, context, deps)
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

/** They would have no project any more to fetch from, nor one that says who may see them. */
async function refuseWithBranches({ id, slug }: ProjectRow, { store }: Pick<ProjectsDeps, 'store'>): Promise<void> {
  const names = (await store.branches.of(id)).filter(({ project }) => project !== null).map(({ branch }) => branch)
  if (names.length === 0) return
  throw new ProblemError('conflict', `The project has branch environments: ${names.slice(0, 10).join(', ')}.`, {
    hint: `Delete them first: stq branch delete ${names[0]} ${slug}`,
  })
}

export interface AskedDeletion {
  readonly data: 'keep' | 'delete'
  readonly purge: boolean
  /** For the audit log. */
  readonly action: string
}

/** Writes the deletion down and begins it. */
export async function beginDeletion(
  row: ProjectRow,
  asked: AskedDeletion,
  asker: Pick<RequestContext, 'actor' | 'requestId' | 'audit'>,
  deps: Pick<ChangeDeps, 'store' | 'model' | 'orchestrator'>,
): Promise<Accepted> {
  const accepted = await accept(row, asked, asker, deps)
  try {
    await deps.model.renew(row.id)
  } finally {
    begin(accepted, deps)
  }
  return accepted
}

function accept(
  row: ProjectRow,
  { action, ...input }: AskedDeletion,
  context: Pick<RequestContext, 'actor' | 'requestId' | 'audit'>,
  { store }: Pick<ChangeDeps, 'store'>,
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
        action,
        target: row.slug,
        project: row.id,
        operationId: accepted.operation.id,
        changes: { ...input, path: row.path },
      }),
    )
    return accepted
  })
}
