import type { Reading, Writing } from './context.ts'
import { ChangedError, TakenError } from './errors.ts'
import type { UserReader, UserRow, UserWriter } from './model/users.ts'
import type { UsersTable } from './schema-access.ts'

export function userReader({ db }: Reading): UserReader {
  const from = db.selectFrom('users').selectAll()
  return {
    find: async (id) => (await from.where('id', '=', id).execute()).map(userOf)[0] ?? null,
    byName: async (username) => (await from.where('username', '=', username).execute()).map(userOf)[0] ?? null,
    list: async () => (await from.orderBy('username').execute()).map(userOf),
    count: async () =>
      (
        await db
          .selectFrom('users')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
      ).count,
  }
}

export function userWriter(writing: Writing): UserWriter {
  const { db, now } = writing
  return {
    insert: async ({ id, username, role, passwordHash, projects = [], projectRoles = [] }) => {
      const holder = await db.selectFrom('users').select('id').where('username', '=', username).executeTakeFirst()
      if (holder !== undefined) throw new TakenError('username', null)
      const row: UsersTable = {
        id,
        username,
        role: role ?? noRole,
        projects: JSON.stringify(projects),
        project_roles: JSON.stringify(projectRoles),
        disabled: 0,
        password_hash: passwordHash ?? '',
        created_at: now,
      }
      await db.insertInto('users').values(row).execute()
      return userOf(row)
    },
    update: async (id, { role, projects, projectRoles, disabled, passwordHash }) => {
      const row = await db
        .updateTable('users')
        // `id` sets itself, so that a change of nothing is still valid SQL.
        .set({
          id,
          role: role === undefined ? undefined : (role ?? noRole),
          projects: projects === undefined ? undefined : JSON.stringify(projects),
          project_roles: projectRoles === undefined ? undefined : JSON.stringify(projectRoles),
          disabled: disabled === undefined ? undefined : Number(disabled),
          password_hash: passwordHash === undefined ? undefined : (passwordHash ?? ''),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      writing.rightsChanged = true
      if (row === undefined) throw new ChangedError(`User ${id} is not there any more.`)
      return userOf(row)
    },
    delete: async (id) => {
      writing.rightsChanged = true
      await db.deleteFrom('users').where('id', '=', id).execute()
    },
  }
}

export function userOf(row: UsersTable): UserRow {
  return {
    id: row.id,
    username: row.username,
    ...rightsOf(row),
    disabled: row.disabled !== 0,
    passwordHash: row.password_hash === '' ? null : row.password_hash,
    createdAt: row.created_at,
  }
}

const noRole = 'none'

/** What a person may do, as it is stored. */
export function rightsOf(
  row: Pick<UsersTable, 'role' | 'projects' | 'project_roles'>,
): Pick<UserRow, 'role' | 'projects' | 'projectRoles'> {
  return {
    role: row.role === noRole ? null : (row.role as UserRow['role']),
    projects: JSON.parse(row.projects) as readonly string[],
    projectRoles: JSON.parse(row.project_roles) as UserRow['projectRoles'],
  }
}
