import type { Reading, Writing } from './context.ts'
import type { SavedQueryReader, SavedQueryRow, SavedQueryWriter } from './model/saved-queries.ts'
import type { SavedQueriesTable } from './schema.ts'

export function savedQueryReader({ db }: Reading): SavedQueryReader {
  const from = db.selectFrom('saved_queries').selectAll()
  return {
    of: async (project) => {
      const rows = await from.where('project', '=', project).orderBy('name').execute()
      return rows.map(rowOf)
    },
    find: async (project, id) => {
      const row = await from.where('project', '=', project).where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : rowOf(row)
    },
  }
}

export function savedQueryWriter({ db, now }: Writing): SavedQueryWriter {
  return {
    insert: async (query) => {
      await db
        .insertInto('saved_queries')
        .values({ ...query, created_at: now, updated_at: now })
        .execute()
    },
    update: async ({ id, project, name, database, sql }) => {
      await db
        .updateTable('saved_queries')
        .set({ name, database, sql, updated_at: now })
        .where('project', '=', project)
        .where('id', '=', id)
        .execute()
    },
    delete: async (project, id) => {
      await db.deleteFrom('saved_queries').where('project', '=', project).where('id', '=', id).execute()
    },
  }
}

function rowOf({ created_at: createdAt, updated_at: updatedAt, ...row }: SavedQueriesTable): SavedQueryRow {
  return { ...row, createdAt, updatedAt }
}
