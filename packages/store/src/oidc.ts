import type { Reading, Writing } from './context.ts'
import { TakenError } from './errors.ts'
import type { OidcIdentityRow, OidcReader, OidcSessionRow, OidcWriter } from './model/oidc.ts'
import type { OidcIdentitiesTable, OidcSessionsTable } from './schema-access.ts'

export function oidcReader({ db }: Reading): OidcReader {
  const identities = db.selectFrom('oidc_identities').selectAll()
  const sessions = db.selectFrom('oidc_sessions').selectAll()
  return {
    identity: async (issuer, subject) =>
      (await identities.where('issuer', '=', issuer).where('subject', '=', subject).execute()).map(identityOf)[0] ??
      null,
    ofUser: async (user) => (await identities.where('user', '=', user).orderBy('issuer').execute()).map(identityOf),
    session: async (id) => (await sessions.where('session', '=', id).execute()).map(sessionOf)[0] ?? null,
    sessions: async () => (await sessions.orderBy('session').execute()).map(sessionOf),
  }
}

export function oidcWriter({ db, now }: Writing): OidcWriter {
  return {
    link: async ({ issuer, subject, user, managed, name }) => {
      const [holder] = await db
        .selectFrom('oidc_identities')
        .select('user')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .execute()
      if (holder !== undefined && holder.user !== user) throw new TakenError('identity', holder.user)
      await db.deleteFrom('oidc_identities').where('user', '=', user).where('issuer', '=', issuer).execute()
      const row = { issuer, subject, user, managed: Number(managed), name, created_at: now, last_sign_in_at: null }
      await db.insertInto('oidc_identities').values(row).execute()
    },
    unlink: async (user) => {
      await db.deleteFrom('oidc_identities').where('user', '=', user).execute()
    },
    signedIn: async (issuer, subject, name) => {
      await db
        .updateTable('oidc_identities')
        .set({ last_sign_in_at: now, name })
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .execute()
    },
    openSession: async ({ session, issuer, subject, refreshAt }) => {
      const row = { session, issuer, subject, refresh_at: refreshAt, failing_since: null }
      await db.insertInto('oidc_sessions').values(row).execute()
    },
    updateSession: async (id, { refreshAt, failingSince }) => {
      await db
        .updateTable('oidc_sessions')
        .set({ refresh_at: refreshAt, failing_since: failingSince })
        .where('session', '=', id)
        .execute()
    },
  }
}

function identityOf(row: OidcIdentitiesTable): OidcIdentityRow {
  const { issuer, subject, user, managed, name, created_at: createdAt, last_sign_in_at: lastSignInAt } = row
  return { issuer, subject, user, managed: managed !== 0, name, createdAt, lastSignInAt }
}

function sessionOf(row: OidcSessionsTable): OidcSessionRow {
  const { session, issuer, subject, refresh_at: refreshAt, failing_since: failingSince } = row
  return { session, issuer, subject, refreshAt, failingSince }
}
