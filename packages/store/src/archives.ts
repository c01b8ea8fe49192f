import type { Reading, Writing } from './context.ts'
import type { ArchiveReader, ArchiveWriter } from './model/archives.ts'

export function archiveReader({ db }: Reading): ArchiveReader {
  return {
    databases: () => db.selectFrom('archives').select(['project', 'database']).distinct().execute(),
    of: async (project) => {
      const rows = await db.selectFrom('archives').selectAll().where('project', '=', project).orderBy('id').execute()
      return rows.map(({ keep_days: keepDays, begun_at: begunAt, ended_at: endedAt, ...row }) => ({
        ...row,
        keepDays,
        begunAt,
        endedAt,
      }))
    },
  }
}

export function archiveWriter({ db, now }: Writing): ArchiveWriter {
  return {
    begin: async ({ keepDays, ...archive }) => {
      await db
        .insertInto('archives')
        .values({ ...archive, keep_days: keepDays, begun_at: now, ended_at: null })
        // Another one did it in the same moment.
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },
    setKeep: async (id, keepDays) => {
      await db.updateTable('archives').set({ keep_days: keepDays }).where('id', '=', id).execute()
    },
    end: async (project, data, next) => {
      const open = await db
        .selectFrom('archives')
        .selectAll()
        .where('project', '=', project)
        .where('data', '=', data)
        .where('ended_at', 'is', null)
        .executeTakeFirst()
      if (open === undefined) return
      await db.updateTable('archives').set({ ended_at: now }).where('id', '=', open.id).execute()
      if (next === undefined) return
      await db
        .insertInto('archives')
        .values({ ...open, id: next, begun_at: now })
        .execute()
    },
    delete: async (id) => {
      await db.deleteFrom('archives').where('id', '=', id).execute()
    },
  }
}
