import type { SeedState } from '@stackquay/domain'
import type { Reading, Writing } from './context.ts'
import type { SeedReader, SeedWriter } from './model/seeds.ts'

export function seedReader({ db }: Reading): SeedReader {
  return {
    find: async (project, data) => {
      const row = await db
        .selectFrom('database_seeds')
        .select('state')
        .where('project', '=', project)
        .where('data', '=', data)
        .executeTakeFirst()
      return row === undefined ? null : (row.state as SeedState)
    },
  }
}

export function seedWriter({ db, now }: Writing): SeedWriter {
  return {
    set: async (project, data, state) => {
      await db
        .insertInto('database_seeds')
        .values({ project, data, state, at: now })
        .onConflict((conflict) => conflict.columns(['project', 'data']).doUpdateSet({ state, at: now }))
        .execute()
    },
    forget: async (project, data) => {
      await db.deleteFrom('database_seeds').where('project', '=', project).where('data', '=', data).execute()
    },
  }
}
