import type { Forge, GitDelivery, Release } from '@stackquay/contract'
import type { Reading, Writing } from './context.ts'
import type { DeployReader, DeployRow, DeployWriter, PendingPullRequest } from './model/deploys.ts'
import type { DeploysTable, GitDeliveriesTable } from './schema-deploys.ts'

export function deployReader({ db }: Reading): DeployReader {
  const deploys = db.selectFrom('deploys').selectAll()
  const deliveries = db.selectFrom('git_deliveries').selectAll()
  return {
    find: async (id) => (await deploys.where('id', '=', id).execute()).map(deployOf)[0] ?? null,
    list: async ({ project, limit, cursor }) => {
      let query = deploys.where('project', '=', project).orderBy('id', 'desc').limit(limit)
      if (cursor !== undefined) query = query.where('id', '<', cursor)
      return (await query.execute()).map(deployOf)
    },
    inState: async (state) => (await deploys.where('state', '=', state).orderBy('id').execute()).map(deployOf),
    unreported: async () =>
      (
        await deploys
          .where('state', 'in', ['succeeded', 'failed', 'cancelled'])
          .where('forge', 'is not', null)
          .where('commit_id', 'is not', null)
          .where('reported', 'is', null)
          .orderBy('id')
          .limit(100)
          .execute()
      ).map(deployOf),
    deliveries: async (project, limit) =>
      (await deliveries.where('project', '=', project).orderBy('seq', 'desc').limit(limit).execute()).map(deliveryOf),
    receivedBefore: async (project, id, digest) => {
      const known = deliveries.where('project', '=', project).orderBy('seq').limit(1)
      const row = await known
        .where((where) =>
          digest === null ? where('id', '=', id) : where.or([where('id', '=', id), where('digest', '=', digest)]),
        )
        .executeTakeFirst()
      return row?.at ?? null
    },
    pendingPullRequests: async (project) => {
      const all = deliveries.where('pending', 'is not', null).orderBy('at').orderBy('seq')
      const rows = await (project === undefined ? all : all.where('project', '=', project)).execute()
      return rows.map(pendingOf)
    },
    refused: async (project) => {
      const row = await db.selectFrom('git_refusals').selectAll().where('project', '=', project).executeTakeFirst()
      return row === undefined ? null : { at: row.at, reason: row.reason }
    },
  }
}

export function deployWriter({ db, now }: Writing): DeployWriter {
  return {
    insert: async (deploy) => {
      const row: DeploysTable = {
        id: deploy.id,
        project: deploy.project,
        trigger_kind: deploy.trigger,
        actor: deploy.actor,
        forge: deploy.forge,
        state: deploy.state,
        branch: deploy.branch,
        from_commit: null,
        commit_id: deploy.commit,
        rolled_back: 0,
        reason: null,
        operation: deploy.operation,
        reported: null,
        created_at: now,
        finished_at: null,
        ...columnsOf(null),
      }
      await db.insertInto('deploys').values(row).execute()
      return deployOf(row)
    },
    update: async (id, { from, commit, rolledBack, finishedAt, release, ...same }) => {
      const row = await db
        .updateTable('deploys')
        .set({
          id,
          ...same,
          from_commit: from,
          commit_id: commit,
          rolled_back: rolledBack === undefined ? undefined : rolledBack ? 1 : 0,
          finished_at: finishedAt,
          ...(release === undefined ? {} : columnsOf(release)),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      return row === undefined ? null : deployOf(row)
    },
    supersede: async (project, reason) => {
      const rows = await db
        .updateTable('deploys')
        .set({ state: 'superseded', reason, finished_at: now })
        .where('project', '=', project)
        .where('state', '=', 'waiting')
        .returningAll()
        .execute()
      return rows.map(deployOf)
    },
    ...deliveryWriter({ db, now }),
  }
}

function deliveryWriter({
  db,
  now,
}: Pick<Writing, 'db' | 'now'>): Pick<DeployWriter, 'insertDelivery' | 'settleDelivery' | 'putRefused' | 'keepNewest'> {
  return {
    putRefused: async (project, refused) => {
      await db.deleteFrom('git_refusals').where('project', '=', project).execute()
      if (refused !== null)
        await db
          .insertInto('git_refusals')
          .values({ project, ...refused })
          .execute()
    },
    settleDelivery: async ({ project, id }, followed) => {
      await db
        .updateTable('git_deliveries')
        .set({ ...followed, pending: null })
        .where('project', '=', project)
        .where('id', '=', id)
        .where('pending', 'is not', null)
        .execute()
    },
    insertDelivery: async ({ project, digest, commit, pending, ...delivery }) => {
      const last = await db
        .selectFrom('git_deliveries')
        .select('seq')
        .where('project', '=', project)
        .orderBy('seq', 'desc')
        .limit(1)
        .executeTakeFirst()
      const row: GitDeliveriesTable = {
        ...delivery,
        project,
        digest,
        commit_id: commit,
        pending: pending === null ? null : JSON.stringify(pending),
        seq: (last?.seq ?? 0) + 1,
        at: now,
      }
      await db.insertInto('git_deliveries').values(row).execute()
    },
    keepNewest: async (project, deploys, deliveries) => {
      const old = await db
        .selectFrom('deploys')
        .select('id')
        .where('project', '=', project)
        .orderBy('id', 'desc')
        .offset(deploys)
        .limit(1000)
        .execute()
      const ids = old.map(({ id }) => id)
      if (ids.length > 0) await db.deleteFrom('deploys').where('id', 'in', ids).execute()
      const oldest = await db
        .selectFrom('git_deliveries')
        .select('seq')
        .where('project', '=', project)
        .orderBy('seq', 'desc')
        .offset(deliveries)
        .limit(1)
        .executeTakeFirst()
      if (oldest !== undefined)
        await db.deleteFrom('git_deliveries').where('project', '=', project).where('seq', '<=', oldest.seq).execute()
    },
  }
}

function deployOf(row: DeploysTable): DeployRow {
  return {
    id: row.id,
    project: row.project,
    trigger: row.trigger_kind as DeployRow['trigger'],
    actor: row.actor,
    forge: row.forge as Forge | null,
    state: row.state as DeployRow['state'],
    branch: row.branch,
    from: row.from_commit,
    commit: row.commit_id,
    rolledBack: row.rolled_back === 1,
    reason: row.reason,
    operation: row.operation,
    reported: row.reported,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    release: releaseOf(row),
  }
}

function releaseOf({ generation, installed_from, images, runtimes }: ReleaseColumns): Release | null {
  if (generation === null) return null
  const read = (text: string | null) => JSON.parse(text ?? '{}') as Readonly<Record<string, string>>
  return { generation, installedFrom: read(installed_from), images: read(images), runtimes: read(runtimes) }
}

function columnsOf(release: Release | null): ReleaseColumns {
  if (release === null) return { generation: null, installed_from: null, images: null, runtimes: null }
  const { generation, installedFrom, images, runtimes } = release
  return {
    generation,
    installed_from: JSON.stringify(installedFrom),
    images: JSON.stringify(images),
    runtimes: JSON.stringify(runtimes),
  }
}

type ReleaseColumns = Pick<DeploysTable, 'generation' | 'installed_from' | 'images' | 'runtimes'>

function deliveryOf(row: GitDeliveriesTable): GitDelivery {
  const { id, at, event, ref, reason, deploy } = row
  return {
    id,
    at,
    forge: row.forge as Forge,
    event,
    ref,
    commit: row.commit_id,
    outcome: row.outcome as GitDelivery['outcome'],
    reason,
    deploy,
  }
}

function pendingOf({ project, id, forge, pending }: GitDeliveriesTable): PendingPullRequest {
  return { project, id, forge: forge as Forge, pending: JSON.parse(pending ?? 'null') as PendingPullRequest['pending'] }
}
