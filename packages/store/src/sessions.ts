import type { Reading, Writing } from './context.ts'
import { given } from './prepared.ts'
import type { SessionsTable } from './schema.ts'
import type { SessionQuestions, SessionRow, Transaction } from './store.ts'
import { storedTime } from './text.ts'
import { userOf } from './users.ts'

const hour = 3_600_000
/** A session ends this long after it was last seen, and this long after it began, whatever `expiresAt` says. */
export const sessionIdleMs = 12 * hour
export const sessionAgeMs = 7 * 24 * hour

export function sessionQuestions({ db, prepare, now }: Reading): SessionQuestions {
  const live = db
    .selectFrom('sessions')
    .where('sessions.expires_at', '>', given<string>('now'))
    .where('sessions.last_seen_at', '>', given<string>('idle'))
    .where('sessions.created_at', '>', given<string>('old'))
  const byHash = prepare(live.selectAll().where('hash', '=', given<string>('hash')))
  const owner = prepare(
    db.selectFrom('users').selectAll().where('id', '=', given<string>('id')).where('disabled', '=', 0),
  )
  const ofUser = prepare(live.selectAll().where('user', '=', given<string>('user')).orderBy('id'))

  return {
    authenticate: async (hash) => {
      const session = byHash({ hash, ...limits(now()) })[0]
      const user = session === undefined ? undefined : owner({ id: session.user })[0]
      return session === undefined || user === undefined ? null : { session: sessionOf(session), user: userOf(user) }
    },
    of: async (user) => ofUser({ user, ...limits(now()) }).map(sessionOf),
  }
}

export function sessionChanges({ db, now }: Writing): Transaction['sessions'] {
  return {
    insert: async (session) => {
      const ended = limits(new Date(now))
      await db
        .deleteFrom('sessions')
        .where((row) =>
          row.or([
            row('expires_at', '<=', ended.now),
            row('last_seen_at', '<=', ended.idle),
            row('created_at', '<=', ended.old),
          ]),
        )
        .execute()
      const row: SessionsTable = {
        id: session.id,
        hash: session.hash,
        csrf_token: session.csrfToken,
        user: session.user,
        ip: session.ip,
        user_agent: session.userAgent,
        created_at: now,
        last_seen_at: now,
        expires_at: storedTime(session.expiresAt),
      }
      await db.insertInto('sessions').values(row).execute()
      return sessionOf(row)
    },
    touch: async (id) => {
      await db.updateTable('sessions').set({ last_seen_at: now }).where('id', '=', id).execute()
    },
    delete: async (id) => {
      await db.deleteFrom('sessions').where('id', '=', id).execute()
    },
    deleteOfUser: async (user, except) => {
      let query = db.deleteFrom('sessions').where('user', '=', user)
      if (except !== undefined) query = query.where('id', '!=', except)
      await query.execute()
    },
  }
}

function limits(now: Date): { now: string; idle: string; old: string } {
  return {
    now: now.toISOString(),
    idle: new Date(now.getTime() - sessionIdleMs).toISOString(),
    old: new Date(now.getTime() - sessionAgeMs).toISOString(),
  }
}

function sessionOf(row: SessionsTable): SessionRow {
  return {
    id: row.id,
    user: row.user,
    csrfToken: row.csrf_token,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    ip: row.ip,
    userAgent: row.user_agent,
  }
}
