import type { Reading, Writing } from './context.ts'
import type { PagePassReader, PagePassWriter } from './model/page-passes.ts'
import { given } from './prepared.ts'
import { rightsOf } from './users.ts'

export function pagePassReader({ db, prepare, now, sessionLimits }: Reading): PagePassReader {
  const live = prepare(
    db
      .selectFrom('page_passes')
      .innerJoin('sessions', 'sessions.id', 'page_passes.session')
      .innerJoin('users', 'users.id', 'sessions.user')
      .where('page_passes.expires_at', '>', given<string>('now'))
      .where('sessions.expires_at', '>', given<string>('now'))
      .where('sessions.last_seen_at', '>', given<string>('idle'))
      .where('sessions.created_at', '>', given<string>('old'))
      .where('users.disabled', '=', 0)
      .selectAll('page_passes')
      .select(['users.role', 'users.projects', 'users.project_roles'])
      .orderBy('page_passes.hash'),
  )
  return {
    live: async () => {
      const at = now()
      const { idleMs, ageMs } = sessionLimits()
      const before = (ms: number) => new Date(at.getTime() - ms).toISOString()
      const rows = live({ now: at.toISOString(), idle: before(idleMs), old: before(ageMs) })
      return rows.map(({ hash, session, project, service, expires_at: expiresAt, ...user }) => ({
        hash,
        session,
        project,
        service,
        expiresAt,
        rights: rightsOf(user),
      }))
    },
  }
}

/** Two tabs that open at the same moment get two: whichever the browser keeps holds. */
const mostOfPage = 4

export function pagePassWriter({ db, now }: Writing): PagePassWriter {
  return {
    insert: async ({ hash, session, project, service, expiresAt }) => {
      await db.deleteFrom('page_passes').where('expires_at', '<=', now).execute()
      const row = { hash, session, project, service, created_at: now, expires_at: expiresAt.toISOString() }
      await db.insertInto('page_passes').values(row).execute()
      const own = await db
        .selectFrom('page_passes')
        .select('hash')
        .where('session', '=', session)
        .where('project', '=', project)
        .where('service', '=', service)
        .where('hash', '!=', hash)
        .orderBy('created_at', 'desc')
        .execute()
      const old = own.slice(mostOfPage - 1).map((one) => one.hash)
      if (old.length > 0) await db.deleteFrom('page_passes').where('hash', 'in', old).execute()
    },
  }
}
