import { changesOf, emptySpec } from '@stackquay/domain'
import { type NewProject, type OperationRow, TakenError, type Transaction } from '@stackquay/store'
import type { RequestContext } from '../../http/handler.ts'
import type { ChosenUser } from '../../isolation/user-records.ts'
import { begin } from '../accept.ts'
import type { ChangeDeps } from '../change-project.ts'
import { nameTaken } from './names.ts'

/**
 * Project, operation, audit entry and event in one transaction, and the user that was chosen for it. Throws
 * `conflict` when the name was taken in the same moment.
 */
export async function insertProject(
  project: NewProject,
  context: RequestContext,
  deps: ChangeDeps,
  { user, more }: { readonly user: ChosenUser | null; readonly more: (tx: Transaction) => Promise<OperationRow> },
): Promise<OperationRow> {
  const { store, model } = deps
  const operation = await store
    .transaction(async (tx) => {
      await tx.projects.insert(project)
      await user?.give(tx)
      const queued = await more(tx)
      await tx.audit.append(context.audit(creationEntry(project, queued)))
      await tx.events.append({
        type: 'project.created',
        project: project.id,
        data: { id: project.id, slug: project.slug, name: project.spec.name },
      })
      return queued
    })
    .catch(async (error: unknown) => {
      user?.back()
      if (error instanceof TakenError) throw nameTaken(project.slug, await store.projects.find(project.slug))
      throw error
    })
  user?.given()
  try {
    await model.created(project.id, operation)
  } finally {
    begin({ operation, isNew: true, ends: [], isBegun: operation.state === 'running' }, deps)
  }
  return operation
}

function creationEntry(project: NewProject, queued: OperationRow) {
  return {
    action: project.source?.kind === 'branch' ? 'project.branch.create' : (actions[queued.kind] ?? 'project.create'),
    target: project.slug,
    project: project.id,
    operationId: queued.id,
    changes: {
      source: project.source,
      engine: project.engine,
      ...(changesOf(emptySpec(project.spec.name), project.spec) as object),
    },
  }
}

/** Of what made the project. */
const actions: Readonly<Partial<Record<OperationRow['kind'], string>>> = {
  duplicate: 'project.duplicate',
  restore: 'backup.restore-as',
}
