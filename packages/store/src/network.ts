import type { Reading, Writing } from './context.ts'
import { TakenError } from './errors.ts'
import type { DomainRow, NetworkReader, NetworkWriter, ShareRow, StoredRules } from './model/network.ts'
import type { DomainsTable, SharesTable } from './schema-network.ts'

export function networkReader({ db }: Reading): NetworkReader {
  return {
    domain: async (host) =>
      (await db.selectFrom('domains').selectAll().where('host', '=', host).execute()).map(domainOf)[0] ?? null,
    domains: async (project) =>
      (await db.selectFrom('domains').selectAll().where('project', '=', project).orderBy('host').execute()).map(
        domainOf,
      ),
    allDomains: async () => (await db.selectFrom('domains').selectAll().orderBy('host').execute()).map(domainOf),
    formerSlugs: async (project) =>
      db.selectFrom('former_slugs').selectAll().where('project', '=', project).orderBy('until', 'desc').execute(),
    allFormerSlugs: async () => db.selectFrom('former_slugs').selectAll().orderBy('until', 'desc').execute(),
    rules: async (project) =>
      (await db.selectFrom('proxy_rules').selectAll().where('project', '=', project).execute()).map((row) => ({
        project: row.project,
        revision: row.revision,
        rules: JSON.parse(row.rules) as StoredRules,
      }))[0] ?? null,
    allRules: async () =>
      (await db.selectFrom('proxy_rules').selectAll().execute()).map((row) => ({
        project: row.project,
        revision: row.revision,
        rules: JSON.parse(row.rules) as StoredRules,
      })),
    share: async (project) =>
      (await db.selectFrom('shares').selectAll().where('project', '=', project).execute()).map(shareOf)[0] ?? null,
    allShares: async () => (await db.selectFrom('shares').selectAll().orderBy('id').execute()).map(shareOf),
  }
}

export function networkWriter({ db, now }: Writing): NetworkWriter {
  return {
    addDomain: async ({ host, project, workload }) => {
      const holder = await db.selectFrom('domains').selectAll().where('host', '=', host).executeTakeFirst()
      if (holder !== undefined) throw new TakenError('host name', holder.project)
      // What another project answers at by its wildcard is not to be taken from under it.
      const wildcard = `*${host.slice(host.indexOf('.'))}`
      const above = await db.selectFrom('domains').select('project').where('host', '=', wildcard).executeTakeFirst()
      if (above !== undefined && above.project !== project) throw new TakenError('host name', above.project)
      const row: DomainsTable = { host, project, workload, created_at: now }
      await db.insertInto('domains').values(row).execute()
      return domainOf(row)
    },
    removeDomain: async (host) => {
      await db.deleteFrom('domains').where('host', '=', host).execute()
    },
    removeFormerSlug: async (slug) => {
      await db.deleteFrom('former_slugs').where('slug', '=', slug).execute()
    },
    expireFormerSlugs: async (at) => {
      const gone = await db.deleteFrom('former_slugs').where('until', '<=', at).returning('project').execute()
      return [...new Set(gone.map(({ project }) => project))]
    },
    putRules: async (project, rules) => {
      const before = await db
        .selectFrom('proxy_rules')
        .select('revision')
        .where('project', '=', project)
        .executeTakeFirst()
      const revision = (before?.revision ?? 0) + 1
      const row = { project, rules: JSON.stringify(rules), revision, updated_at: now }
      await db
        .insertInto('proxy_rules')
        .values(row)
        .onConflict((conflict) =>
          conflict.column('project').doUpdateSet({ rules: row.rules, revision, updated_at: now }),
        )
        .execute()
      return { project, revision, rules }
    },
    putShare: async (share) => {
      await db.deleteFrom('shares').where('project', '=', share.project).execute()
      const row: SharesTable = {
        id: share.id,
        project: share.project,
        provider: share.provider,
        workload: share.workload,
        host: share.host,
        url: share.url,
        state: share.state,
        detail: null,
        password_hash: share.passwordHash,
        actor: share.actor,
        expires_at: share.expiresAt,
        created_at: now,
      }
      await db.insertInto('shares').values(row).execute()
      return shareOf(row)
    },
    updateShare: async (id, { url, state, detail }) => {
      await db.updateTable('shares').set({ id, url, state, detail }).where('id', '=', id).execute()
    },
    deleteShare: async (id) => {
      await db.deleteFrom('shares').where('id', '=', id).execute()
    },
  }
}

function domainOf(row: DomainsTable): DomainRow {
  return { host: row.host, project: row.project, workload: row.workload, createdAt: row.created_at }
}

function shareOf(row: SharesTable): ShareRow {
  return {
    id: row.id,
    project: row.project,
    provider: row.provider,
    workload: row.workload,
    host: row.host,
    url: row.url,
    state: row.state as ShareRow['state'],
    detail: row.detail,
    passwordHash: row.password_hash,
    actor: row.actor,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  }
}
