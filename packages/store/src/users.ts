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
    insert: async ({ id, username, role, passwordHash }) => {
      const holder = await db.selectFrom('users').select('id').where('username', '=', username).executeTakeFirst()
      if (holder !== undefined) throw new TakenError('username', null)
      const row: UsersTable = { id, username, role, disabled: 0, password_hash: passwordHash, created_at: now }
      await db.insertInto('users').values(row).execute()
      return userOf(row)
    },
    update: async (id, { role, disabled, passwordHash }) => {
      const row = await db
        .updateTable('users')
        // `id` sets itself, so that a change of nothing is still valid SQL.
        .set({ id, role, disabled: disabled === undefined ? undefined : Number(disabled), password_hash: passwordHash })
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
    role: row.role as UserRow['role'],
    disabled: row.disabled !== 0,
    passwordHash: row.password_hash,
    createdAt: row.created_at,
  }
}
