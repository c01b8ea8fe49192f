import type { Reading, Writing } from './context.ts'
import { TakenError } from './errors.ts'
import type { KnownToken, TokenReader, TokenRow, TokenWriter } from './model/tokens.ts'
import { given, kept } from './prepared.ts'
import type { TokensTable } from './schema-access.ts'
import { storedTime } from './text.ts'
import { userOf } from './users.ts'

export function tokenReader({ db, prepare, now }: Reading): TokenReader {
  const from = db.selectFrom('tokens').selectAll()
  const byHash = prepare(
    db
      .selectFrom('tokens')
      .innerJoin('users', 'users.id', 'tokens.owner')
      .selectAll('tokens')
      .select([
        'users.username',
        'users.role',
        'users.projects as owner_projects',
        'users.project_roles',
        'users.disabled',
        'users.password_hash',
        'users.created_at as owner_created_at',
      ])
      .where('tokens.hash', '=', given<string>('hash'))
      .where('users.disabled', '=', 0),
  )
  const withOwner = kept(prepare, async (hash: string): Promise<KnownToken | null> => {
    const row = byHash({ hash })[0]
    if (row === undefined) return null
    const { owner: id, username, role, owner_projects: projects, project_roles, disabled, password_hash } = row
    const { owner_created_at: created_at } = row
    const known = { id, username, role, projects, project_roles, disabled, password_hash, created_at }
    // The hash of a password does not stay in memory.
    const { passwordHash: _hash, ...owner } = userOf(known)
    return { token: tokenOf(row), owner }
  })
  const isOver = ({ token: { expiresAt } }: KnownToken) => expiresAt !== null && expiresAt <= now().toISOString()
  const byId = prepare(from.where('id', '=', given<string>('id')))
  const page = prepare(
    from
      .where('owner', '=', given<string>('owner'))
      .where('id', '>', given<string>('cursor'))
      .orderBy('id')
      .limit(given<number>('limit')),
  )

  return {
    recall: (hash) => {
      const known = withOwner.recall(hash)
      return known === undefined || isOver(known) ? undefined : known
    },
    authenticate: async (hash) => {
      const known = await withOwner.ask(hash)
      return known === null || isOver(known) ? null : known
    },
    of: async (owner, { limit, cursor = '' }) => page({ owner, limit, cursor }).map(tokenOf),
    find: async (id) => byId({ id }).map(tokenOf)[0] ?? null,
  }
}

export function tokenWriter({ db, now }: Writing): TokenWriter {
  return {
    insert: async (token) => {
      const holder = await db
        .selectFrom('tokens')
        .select('id')
        .where('owner', '=', token.owner)
        .where('name', '=', token.name)
        .executeTakeFirst()
      if (holder !== undefined) throw new TakenError('token name', holder.id)
      const row: TokensTable = {
        id: token.id,
        hash: token.hash,
        prefix: token.prefix,
        name: token.name,
        owner: token.owner,
        scope: token.scope,
        projects: JSON.stringify(token.projects),
        created_at: now,
        expires_at: token.expiresAt === null ? null : storedTime(token.expiresAt),
        last_used_at: null,
      }
      await db.insertInto('tokens').values(row).execute()
      return tokenOf(row)
    },
    delete: async (id) => {
      await db.deleteFrom('tokens').where('id', '=', id).execute()
    },
    touch: async (uses) => {
      for (const [id, time] of uses) {
        await db
          .updateTable('tokens')
          .set({ last_used_at: storedTime(time) })
          .where('id', '=', id)
          .execute()
      }
    },
  }
}

function tokenOf(row: TokensTable): TokenRow {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    owner: row.owner,
    scope: row.scope as TokenRow['scope'],
    projects: JSON.parse(row.projects) as readonly string[],
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  }
}
