import type { Reading, Writing } from './context.ts'
import { ChangedError } from './errors.ts'
import type { ProjectUser, ProjectUserReader, ProjectUserWriter } from './model/project-users.ts'

export function projectUserReader({ db }: Reading): ProjectUserReader {
  return {
    all: async () => {
      const rows = await db.selectFrom('project_users').selectAll().orderBy('number').execute()
      return rows.map(
        ({ before_uid, before_gid, owner, spare, ...row }): ProjectUser => ({
          ...row,
          isOwner: owner === 1,
          isSpare: spare === 1,
          before: before_uid === null || before_gid === null ? null : { uid: before_uid, gid: before_gid },
        }),
      )
    },
  }
}

export function projectUserWriter({ db }: Writing): ProjectUserWriter {
  const add = async (
    user: Omit<ProjectUser, 'number' | 'name'>,
    nameOf: (number: number) => string,
  ): Promise<ProjectUser> => {
    const { project, uid, gid, before, isOwner, isSpare } = user
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
        spare: isSpare ? 1 : 0,
      })
      .returning('number')
      .executeTakeFirstOrThrow()
    const name = nameOf(number)
    await db.updateTable('project_users').set({ name }).where('number', '=', number).execute()
    return { ...user, number, name }
  }
  return {
    add: ({ project, name, uid, gid, before, isOwner = false }) =>
      add({ project, uid, gid, before, isOwner, isSpare: false }, name),
    addSpare: ({ name, uid, gid }) =>
      add({ project: null, uid, gid, before: null, isOwner: false, isSpare: true }, name),
    give: async (number, project) => {
      const given = await db
        .updateTable('project_users')
        .set({ project, spare: 0 })
        .where('number', '=', number)
        .where('spare', '=', 1)
        .executeTakeFirst()
      if (given.numUpdatedRows !== 1n)
        throw new ChangedError(`The user with number ${number} waits for no project any more.`)
    },
    dropSpare: async (number) => {
      await db.updateTable('project_users').set({ spare: 0 }).where('number', '=', number).execute()
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
