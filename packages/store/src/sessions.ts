import type { Reading, Writing } from './context.ts'
import type { KnownSession, SessionReader, SessionRow, SessionWriter } from './model/sessions.ts'
import { given } from './prepared.ts'
import type { SessionsTable } from './schema-access.ts'
import { storedTime } from './text.ts'
import { userOf } from './users.ts'

const hour = 3_600_000
export const sessionIdleMs = 12 * hour
export const sessionAgeMs = 7 * 24 * hour

/** A session ends `idleMs` after it was last seen, and `ageMs` after it began, whatever `expiresAt` says. Asked at each look. */
export type SessionLimits = () => { readonly idleMs: number; readonly ageMs: number }
export const usualSessionLimits: SessionLimits = () => ({ idleMs: sessionIdleMs, ageMs: sessionAgeMs })

export function sessionReader({ db, prepare, now, sessionLimits }: Reading): SessionReader {
  const live = db
    .selectFrom('sessions')
    .where('sessions.expires_at', '>', given<string>('now'))
    .where('sessions.last_seen_at', '>', given<string>('idle'))
    .where('sessions.created_at', '>', given<string>('old'))
  const byKey = prepare(live.selectAll().where('key_hash', '=', given<string>('key')))
  const byId = prepare(live.selectAll().where('id', '=', given<string>('id')))
  const owner = prepare(
    db.selectFrom('users').selectAll().where('id', '=', given<string>('id')).where('disabled', '=', 0),
  )
  const ofUser = prepare(live.selectAll().where('user', '=', given<string>('user')).orderBy('id'))

  const known = (row: SessionsTable | undefined): KnownSession | null => {
    const user = row === undefined ? undefined : owner({ id: row.user })[0]
    return row === undefined || user === undefined ? null : { session: sessionOf(row), user: userOf(user) }
  }

  return {
    byKey: async (key) => known(byKey({ key, ...limits(now(), sessionLimits) })[0]),
    byId: async (id) => known(byId({ id, ...limits(now(), sessionLimits) })[0]),
    of: async (user) => ofUser({ user, ...limits(now(), sessionLimits) }).map(sessionOf),
  }
}

export function sessionWriter(writing: Writing): SessionWriter {
  const { db, now, sessionLimits } = writing
  return {
    insert: async (session) => {
      const ended = limits(new Date(now), sessionLimits)
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
        cookie_hash: session.cookieHash,
        key_hash: session.keyHash,
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
      writing.rightsChanged = true
      await db.deleteFrom('sessions').where('id', '=', id).execute()
    },
    deleteOfUser: async (user, except) => {
      writing.rightsChanged = true
      let query = db.deleteFrom('sessions').where('user', '=', user)
      if (except !== undefined) query = query.where('id', '!=', except)
      await query.execute()
    },
    deleteAll: async () => {
      writing.rightsChanged = true
      return Number((await db.deleteFrom('sessions').executeTakeFirst()).numDeletedRows)
    },
  }
}

function limits(now: Date, sessionLimits: SessionLimits): { now: string; idle: string; old: string } {
  const { idleMs, ageMs } = sessionLimits()
  return {
    now: now.toISOString(),
    idle: new Date(now.getTime() - idleMs).toISOString(),
    old: new Date(now.getTime() - ageMs).toISOString(),
  }
}

function sessionOf(row: SessionsTable): SessionRow {
  return {
    id: row.id,
    cookieHash: row.cookie_hash,
    user: row.user,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    ip: row.ip,
    userAgent: row.user_agent,
  }
}
