import type { Reading, Writing } from './context.ts'
import type { ProjectUser, ProjectUserReader, ProjectUserWriter } from './model/project-users.ts'

export function projectUserReader({ db }: Reading): ProjectUserReader {
  return {
    all: async () => {
      const rows = await db.selectFrom('project_users').selectAll().orderBy('number').execute()
      return rows.map(
        ({ before_uid, before_gid, owner, ...row }): ProjectUser => ({
          ...row,
          isOwner: owner === 1,
          before: before_uid === null || before_gid === null ? null : { uid: before_uid, gid: before_gid },
        }),
      )
    },
  }
}

export function projectUserWriter({ db }: Writing): ProjectUserWriter {
  return {
    add: async ({ project, name, uid, gid, before, isOwner = false }) => {
      const { number } = await db
        .insertInto('project_users')
        .values({
          project,
          name: '',
          uid,
          gid,
          owner: isOwner ? 1 : 0,
          before_uid: before?.uid ?? null,
          before_gid: before?.gid ?? null,
        })
        .returning('number')
        .executeTakeFirstOrThrow()
      await db
        .updateTable('project_users')
        .set({ name: name(number) })
        .where('number', '=', number)
        .execute()
      return { number, project, name: name(number), uid, gid, before, isOwner }
    },
    setIds: async (number, { uid, gid }) => {
      await db.updateTable('project_users').set({ uid, gid }).where('number', '=', number).execute()
    },
    setMoved: async (number) => {
      await db
        .updateTable('project_users')
        .set({ before_uid: null, before_gid: null })
        .where('number', '=', number)
        .execute()
    },
    retire: async (project) => {
      await db.updateTable('project_users').set({ project: null }).where('project', '=', project).execute()
    },
  }
}
