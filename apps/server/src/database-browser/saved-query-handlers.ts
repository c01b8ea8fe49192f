import { ProblemError } from '@stackquay/contract'
import { newId, type SavedQueryRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { FindDeps } from './find-browser.ts'

const mostQueries = 200

export function savedQueryHandlers(
  { store }: Pick<FindDeps, 'store'>,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'listSavedQueries' | 'createSavedQuery' | 'updateSavedQuery' | 'deleteSavedQuery'> {
  const findQuery = async (project: string, id: string): Promise<SavedQueryRow> => {
    const found = await store.savedQueries.find(project, id)
    if (found === null) throw new ProblemError('not_found', `There is no saved query "${id}".`)
    return found
  }
  return {
    listSavedQueries: async ({ params }) => {
      const known = await store.savedQueries.of((await find(params.id)).id)
      return { status: 200, body: { items: known.map(viewOf) } }
    },

    createSavedQuery: async ({ params, body }, context) => {
      const row = await find(params.id)
      const query = {
        id: newId('sqr'),
        project: row.id,
        name: body.name,
        database: body.database ?? null,
        sql: body.sql,
      }
      await store.transaction(async (tx) => {
        const known = await store.savedQueries.of(row.id)
        if (known.length >= mostQueries)
          throw new ProblemError(
            'conflict',
            `The project has ${mostQueries} saved queries, which is as many as there may be.`,
          )
        refuseTaken(known, query)
        await tx.savedQueries.insert(query)
        await tx.audit.append(
          context.audit({ action: 'database.query.create', target: `${row.slug}/${query.name}`, project: row.id }),
        )
      })
      return { status: 201, body: viewOf(await findQuery(row.id, query.id)) }
    },

    updateSavedQuery: async ({ params, body }, context) => {
      const row = await find(params.id)
      await store.transaction(async (tx) => {
        const found = await findQuery(row.id, params.query)
        const changed = {
          ...found,
          name: body.name ?? found.name,
          database: body.database === undefined ? found.database : body.database,
          sql: body.sql ?? found.sql,
        }
        refuseTaken(await store.savedQueries.of(row.id), changed)
        await tx.savedQueries.update(changed)
        await tx.audit.append(
          context.audit({
            action: 'database.query.update',
            target: `${row.slug}/${changed.name}`,
            project: row.id,
            changes: { fields: Object.keys(body) },
          }),
        )
      })
      return { status: 200, body: viewOf(await findQuery(row.id, params.query)) }
    },

    deleteSavedQuery: async ({ params }, context) => {
      const row = await find(params.id)
      const found = await findQuery(row.id, params.query)
      await store.transaction(async (tx) => {
        await tx.savedQueries.delete(row.id, found.id)
        await tx.audit.append(
          context.audit({ action: 'database.query.delete', target: `${row.slug}/${found.name}`, project: row.id }),
        )
      })
      return { status: 204 }
    },
  }
}

function refuseTaken(known: readonly SavedQueryRow[], { id, name }: Pick<SavedQueryRow, 'id' | 'name'>): void {
  if (known.some((one) => one.name === name && one.id !== id))
    throw new ProblemError('conflict', `The project has a saved query "${name}" already.`)
}

function viewOf({ project: _, ...query }: SavedQueryRow) {
  return query
}
