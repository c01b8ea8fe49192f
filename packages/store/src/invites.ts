import type { Reading, Writing } from './context.ts'
import type { InviteReader, InviteRow, InviteWriter } from './model/invites.ts'
import type { InvitesTable } from './schema-access.ts'
import { storedTime } from './text.ts'

export function inviteReader({ db, now }: Reading): InviteReader {
  const live = () =>
    db
      .selectFrom('invites')
      .innerJoin('users', 'users.id', 'invites.user')
      .where('users.disabled', '=', 0)
      .where('invites.expires_at', '>', now().toISOString())
      .selectAll('invites')
  return {
    find: async (hash) => (await live().where('invites.hash', '=', hash).execute()).map(inviteOf)[0] ?? null,
    live: async () => (await live().orderBy('invites.user').execute()).map(inviteOf),
  }
}

export function inviteWriter({ db, now }: Writing): InviteWriter {
  return {
    put: async ({ hash, user, expiresAt }) => {
      await db
        .deleteFrom('invites')
        .where((row) => row.or([row('user', '=', user), row('expires_at', '<=', now)]))
        .execute()
      const row: InvitesTable = { hash, user, created_at: now, expires_at: storedTime(expiresAt) }
      await db.insertInto('invites').values(row).execute()
    },
    take: async (hash) => {
      const gone = await db
        .deleteFrom('invites')
        .where('hash', '=', hash)
        .where('expires_at', '>', now)
        .executeTakeFirst()
      return gone.numDeletedRows === 1n
    },
    deleteOfUser: async (user) => {
      await db.deleteFrom('invites').where('user', '=', user).execute()
    },
  }
}

function inviteOf({ user, created_at: createdAt, expires_at: expiresAt }: InvitesTable): InviteRow {
  return { user, createdAt, expiresAt }
}
