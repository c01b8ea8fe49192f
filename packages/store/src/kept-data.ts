import type { Reading, Writing } from './context.ts'
import type { KeptDataReader, KeptDataWriter } from './model/kept-data.ts'

export function keptDataReader({ db }: Reading): KeptDataReader {
  return {
    of: async (project) => {
      const rows = await db
        .selectFrom('kept_data')
        .select(['name', 'version', 'kept_at as keptAt'])
        .where('project', '=', project)
        .orderBy('name')
        .execute()
      return rows
    },
  }
}

export function keptDataWriter({ db, now }: Writing): KeptDataWriter {
  return {
    writtenBy: async (project, name, version) => {
      await db
        .insertInto('kept_data')
        .values({ project, name, version, kept_at: null })
        .onConflict((conflict) => conflict.columns(['project', 'name']).doUpdateSet({ version }))
        .execute()
    },
    setKept: async (project, name, isKept) => {
      await db
        .updateTable('kept_data')
        .set({ kept_at: isKept ? now : null })
        .where('project', '=', project)
        .where('name', '=', name)
        .execute()
    },
    delete: async (project, name) => {
      await db.deleteFrom('kept_data').where('project', '=', project).where('name', '=', name).execute()
    },
  }
}
