import { operations, ProblemError } from '@stackquay/contract'
import { refusalOf } from '@stackquay/domain'
import { ChangedError, type TrashItem } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { requireProject } from '../http/rights.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { purgeEntry, type TrashKeeper } from './keeper.ts'
import { type RestoreDeps, restoreData, restoreProject } from './restore.ts'
import { trashView } from './trash-view.ts'

export interface TrashHandlerDeps extends RestoreDeps {
  readonly keeper: TrashKeeper
  readonly files: { restore(item: TrashItem, context: RequestContext): Promise<unknown> }
  readonly config: Pick<Config, 'trashDays' | 'baseDomain'>
}

export function trashHandlers(
  deps: TrashHandlerDeps,
  answers: ProjectAnswers,
): Pick<Handlers, 'listTrash' | 'restoreTrash' | 'purgeTrash'> {
  const { store, keeper, files, config } = deps
  const find = async (id: string, context: RequestContext): Promise<TrashItem> => {
    const item = await store.trash.find(id)
    requireProject(context, item?.project ?? null, 'admin')
    if (item === null) throw new ProblemError('not_found', `There is no "${id}" in the trash.`)
    return item
  }

  return {
    listTrash: async (_input, { principal }) => {
      const items = (await store.trash.all()).filter(({ project }) => mayManage(principal, project))
      const projects = new Map((await store.projects.all()).map((row) => [row.id, row]))
      const views = items.map((item) => trashView(item, projects.get(item.project) ?? null))
      return { status: 200, body: { items: views, keepDays: config.trashDays } }
    },

    restoreTrash: async ({ params, query, body = {} }, context) => {
      const item = await find(params.item, context)
      requireKept(item)
      if (item.kind === 'file') {
        await keeper.holding(item.id, () => files.restore(item, context)).catch(orConflict)
        const row = await store.projects.find(item.project)
        return answers.answerProject(row!, null, query.wait, context, 200)
      }
      const { project, operation } = await keeper
        .holding(item.id, () =>
          // What is left of a deletion that was undone is data of a project that is there.
          item.path === null
            ? restoreData(item, context, deps, answers)
            : restoreProject({ ...item, path: item.path }, body, context, deps),
        )
        .catch(orConflict)
      return answers.answerProject(project, operation, query.wait, context, 200)
    },

    purgeTrash: async ({ params, query }, context) => {
      const item = await find(params.item, context)
      if (query.confirm !== item.name)
        throw new ProblemError('validation_failed', `Deleting it for good needs ?confirm=${item.name}.`, {
          errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type its name: ${item.name}.` }],
        })
      if (item.state !== 'purging') {
        requireKept(item)
        await store
          .transaction(async (tx) => {
            await tx.trash.setState(item.id, ['kept'], 'purging')
            await tx.audit.append(context.audit(purgeEntry(item)))
          })
          .catch(orConflict)
      }
      await keeper.purge(item.id)
      const project = await store.projects.find(item.project)
      return { status: 200, body: trashView({ ...item, state: 'purging' }, project) }
    },
  }
}

/** Of a project that is gone too, as long as something of it is kept. */
function mayManage(principal: RequestContext['principal'], project: string): boolean {
  const { scope } = operations.listTrash.access
  return refusalOf(principal, { kind: 'scope', scope, project: true }, project) === null
}

function requireKept({ id, state }: TrashItem): void {
  if (state === 'kept') return
  throw new ProblemError('conflict', `"${id}" is not at rest in the trash: ${state}.`, {
    hint: 'Wait, then look again.',
  })
}

function orConflict(error: unknown): never {
  if (error instanceof ChangedError)
    throw new ProblemError('conflict', 'Somebody else restores or deletes it right now.', {
      hint: 'Look at the trash again.',
    })
  throw error
}
