import type { BranchPullRequest, EngineName } from '@stackquay/contract'
import type { DatabaseSpec, ProjectSpec } from '@stackquay/domain'
import type { Reading, Writing } from './context.ts'
import { ChangedError, TakenError } from './errors.ts'
import type { TrashData, TrashItem, TrashKind, TrashReader, TrashState, TrashWriter } from './model/trash.ts'
import { holderOf } from './projects.ts'
import type { Schema } from './schema.ts'
import type { TrashTable } from './schema-trash.ts'

/** Tables with rows of a project that come back with it. Its secrets have a table of their own, its history ends with it. */
const ofProjects = [
  'domains',
  'proxy_rules',
  'port_leases',
  'kept_data',
  'backup_schedules',
  'image_pins',
  'workload_images',
  'snapshots',
  'checkpoints',
  'archives',
  'database_seeds',
  'branches',
] as const
type OfProjects = (typeof ofProjects)[number]

interface Content {
  readonly project?: Schema['projects']
  readonly rows?: { readonly [Table in OfProjects]?: readonly Schema[Table][] }
  readonly database?: DatabaseSpec | null
  readonly secrets?: readonly string[]
  readonly kept?: readonly Schema['kept_data'][]
  readonly seeds?: readonly Schema['database_seeds'][]
}

export function trashReader({ db }: Reading): TrashReader {
  const from = db.selectFrom('trash').selectAll()
  return {
    all: async () => (await from.orderBy('id', 'desc').execute()).map(itemOf),
    find: async (id) => (await from.where('id', '=', id).execute()).map(itemOf)[0] ?? null,
    ofOperation: async (operation) =>
      (await from.where('operation', '=', operation).orderBy('id').execute()).map(itemOf),
    ofProject: async (project) => (await from.where('project', '=', project).orderBy('id').execute()).map(itemOf),
  }
}

export function trashWriter(writing: Writing): TrashWriter {
  const { db } = writing
  const held = async (id: string): Promise<TrashTable> => {
    const row = await db.selectFrom('trash').selectAll().where('id', '=', id).executeTakeFirst()
    if (row === undefined) throw new ChangedError(`${id} is not in the trash any more.`)
    return row
  }
  const remove = async (id: string) => {
    await db.deleteFrom('trash').where('id', '=', id).execute()
  }
  return {
    add: async (item) => {
      const row = rowOf(item)
      await db.insertInto('trash').values(row).execute()
      return itemOf(row)
    },
    setState: async (id, from, to) => {
      const row = await held(id)
      if (!from.includes(row.state as TrashState)) throw new ChangedError(`${id} is ${row.state}.`)
      await db.updateTable('trash').set({ state: to }).where('id', '=', id).execute()
      return itemOf({ ...row, state: to })
    },
    takeProject: async (id) => takeProject(await held(id), writing),
    returnProject: async (id, as) => {
      await returnProject(await held(id), as, writing)
      await remove(id)
    },
    takeData: async (id) => takeData(await held(id), writing),
    returnData: async (id) => {
      const row = await held(id)
      await returnSecrets(row, writing)
      for (const kept of contentOf(row).kept ?? [])
        await db
          .insertInto('kept_data')
          .values(kept)
          .onConflict((conflict) => conflict.columns(['project', 'name']).doUpdateSet({ version: kept.version }))
          .execute()
      await returnSeeds(contentOf(row).seeds ?? [], writing)
      await returnCopies(contentOf(row).rows ?? {}, writing)
      await remove(id)
    },
    endPullRequest: (parent, number) => endPullRequest(parent, number, writing),
    delete: remove,
  }
}

async function takeProject(item: TrashTable, writing: Writing): Promise<void> {
  const { db } = writing
  const { project: id } = item
  const project = await db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst()
  if (project === undefined) throw new ChangedError(`Project ${id} is not there any more.`)
  const rows: Record<string, readonly unknown[]> = {}
  for (const table of ofProjects)
    rows[table] = await db.selectFrom(table).selectAll().where('project', '=', id).execute()
  await moveSecrets(item, null, writing)
  await keep(item, { project, rows: rows as NonNullable<Content['rows']> }, writing)
  writing.leasesChanged = true
  await db.deleteFrom('projects').where('id', '=', id).execute()
}

async function returnProject(
  item: TrashTable,
  { slug, withoutHosts }: { readonly slug: string; readonly withoutHosts: readonly string[] },
  writing: Writing,
): Promise<void> {
  const { db, now } = writing
  const { project, rows = {} } = contentOf(item)
  if (project === undefined) throw new ChangedError(`${item.id} is no project.`)
  const holder = await holderOf(slug, writing)
  if (holder !== null) throw new TakenError('slug', holder)
  const { name } = JSON.parse(project.spec) as ProjectSpec
  await db
    .insertInto('projects')
    .values({
      ...project,
      slug,
      search: `${slug}\n${name}`.toLowerCase(),
      // Nothing of it runs, so nothing has to be brought to its settings before it starts.
      desired: 'stopped',
      // An item of an earlier version has none of these.
      asleep: null,
      last_used_at: project.last_used_at ?? null,
      phase: 'ready',
      observed_generation: project.generation,
      held_spec: null,
      revision: project.revision + 1,
      state_since: now,
      updated_at: now,
    })
    .execute()
  await returnSecrets(item, writing)
  await returnRows(rows, withoutHosts, writing)
}

async function returnRows(
  rows: NonNullable<Content['rows']>,
  withoutHosts: readonly string[],
  writing: Writing,
): Promise<void> {
  const { db, now } = writing
  for (const domain of rows.domains ?? []) {
    if (withoutHosts.includes(domain.host)) continue
    const other = await db.selectFrom('domains').selectAll().where('host', '=', domain.host).executeTakeFirst()
    if (other !== undefined) throw new TakenError('host name', other.project)
    await db.insertInto('domains').values(domain).execute()
  }
  for (const rule of rows.proxy_rules ?? []) await db.insertInto('proxy_rules').values(rule).execute()
  for (const kept of rows.kept_data ?? []) await db.insertInto('kept_data').values(kept).execute()
  for (const pin of rows.image_pins ?? []) await db.insertInto('image_pins').values(pin).execute()
  for (const used of rows.workload_images ?? []) await db.insertInto('workload_images').values(used).execute()
  await returnCopies(rows, writing)
  for (const checkpoint of rows.checkpoints ?? []) await db.insertInto('checkpoints').values(checkpoint).execute()
  await returnSeeds(rows.database_seeds ?? [], writing)
  // Times at which it was deleted are no missed ones.
  for (const schedule of rows.backup_schedules ?? [])
    await db
      .insertInto('backup_schedules')
      .values({ ...schedule, counts_from: now })
      .execute()
  for (const branch of rows.branches ?? []) await returnBranch(branch, writing)
  writing.leasesChanged = true
  // One that another project has by now is leased anew by the next start.
  for (const lease of rows.port_leases ?? [])
    await db
      .insertInto('port_leases')
      .values(lease)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

/**
 * Whose branch it is the environment of. Somebody wants it again, so what the remote showed of the branch counts anew; without its project, or
 * with another environment of the branch, it is a project like any other.
 */
async function returnBranch(branch: Schema['branches'], { db }: Writing): Promise<void> {
  const parent = await db.selectFrom('projects').select('id').where('id', '=', branch.parent).executeTakeFirst()
  if (parent === undefined) return
  const warning = branch.gone_at === null ? branch.warning : null
  await db
    .insertInto('branches')
    .values({ ...branch, seen_commit: null, gone_at: null, warning })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function endPullRequest(parent: string, number: number, { db }: Writing): Promise<void> {
  for (const item of await db.selectFrom('trash').selectAll().where('kind', '=', 'project').execute()) {
    const content = contentOf(item)
    let isChanged = false
    const branches = (content.rows?.branches ?? []).map((row) => {
      const pullRequest = row.pull_request === null ? null : (JSON.parse(row.pull_request) as BranchPullRequest)
      if (row.parent !== parent || pullRequest?.number !== number) return row
      isChanged = true
      return { ...row, pull_request: JSON.stringify({ ...pullRequest, closed: true }) }
    })
    if (isChanged) await keep(item, { ...content, rows: { ...content.rows, branches } }, { db }, {})
  }
}

async function takeData(item: TrashTable, writing: Writing): Promise<void> {
  const { db } = writing
  const names = (JSON.parse(item.data) as TrashData[]).map(({ name }) => name)
  const kept = await db
    .selectFrom('kept_data')
    .selectAll()
    .where('project', '=', item.project)
    .where('name', 'in', names)
    .execute()
  await moveSecrets(item, contentOf(item).secrets ?? [], writing)
  await db.deleteFrom('kept_data').where('project', '=', item.project).where('name', 'in', names).execute()
  const seeds = await db
    .selectFrom('database_seeds')
    .selectAll()
    .where('project', '=', item.project)
    .where('data', 'in', names)
    .execute()
  await db.deleteFrom('database_seeds').where('project', '=', item.project).where('data', 'in', names).execute()
  const rows = await takeCopies(item, names, writing)
  await keep(item, { ...contentOf(item), kept, seeds, rows }, writing)
}

/** Rows of snapshots and archives whose data goes along. */
async function takeCopies(
  { project }: TrashTable,
  names: readonly string[],
  { db }: Writing,
): Promise<NonNullable<Content['rows']>> {
  const rows: Record<string, readonly unknown[]> = {}
  for (const table of ['archives', 'snapshots'] as const) {
    rows[table] = await db
      .selectFrom(table)
      .selectAll()
      .where('project', '=', project)
      .where('id', 'in', names)
      .execute()
    await db.deleteFrom(table).where('project', '=', project).where('id', 'in', names).execute()
  }
  return rows as NonNullable<Content['rows']>
}

async function returnCopies(
  { archives = [], snapshots = [] }: NonNullable<Content['rows']>,
  { db }: Writing,
): Promise<void> {
  for (const archive of archives) await db.insertInto('archives').values(archive).execute()
  for (const snapshot of snapshots) await db.insertInto('snapshots').values(snapshot).execute()
}

async function returnSeeds(seeds: readonly Schema['database_seeds'][], { db }: Writing): Promise<void> {
  for (const seed of seeds)
    await db
      .insertInto('database_seeds')
      .values(seed)
      .onConflict((conflict) => conflict.columns(['project', 'data']).doUpdateSet({ state: seed.state }))
      .execute()
}

async function keep(
  { id }: TrashTable,
  content: Content,
  { db }: Pick<Writing, 'db'>,
  state: { readonly state?: TrashState } = { state: 'kept' },
): Promise<void> {
  await db
    .updateTable('trash')
    .set({ ...state, content: JSON.stringify(content) })
    .where('id', '=', id)
    .execute()
}

/** Null: all of the project. */
async function moveSecrets(item: TrashTable, names: readonly string[] | null, { db }: Writing): Promise<void> {
  const rows = await db.selectFrom('secrets').selectAll().where('project', '=', item.project).execute()
  for (const row of rows) {
    if (names !== null && !names.includes(row.name)) continue
    await db
      .insertInto('trash_secrets')
      .values({ ...row, project: item.project, trash: item.id })
      .execute()
    await db.deleteFrom('secret_versions').where('secret', '=', row.id).execute()
    await db.deleteFrom('secrets').where('id', '=', row.id).execute()
  }
}

async function returnSecrets({ id }: TrashTable, { db }: Writing): Promise<void> {
  for (const { trash: _of, ...row } of await db
    .selectFrom('trash_secrets')
    .selectAll()
    .where('trash', '=', id)
    .execute()) {
    const since = await db
      .selectFrom('secrets')
      .select('id')
      .where('project', '=', row.project)
      .where('name', '=', row.name)
      .executeTakeFirst()
    if (since !== undefined) {
      await db.deleteFrom('secret_versions').where('secret', '=', since.id).execute()
      await db.deleteFrom('secrets').where('id', '=', since.id).execute()
    }
    await db.insertInto('secrets').values(row).execute()
  }
}

function rowOf(item: Parameters<TrashWriter['add']>[0]): TrashTable {
  return {
    id: item.id,
    kind: item.kind,
    state: 'moving',
    project: item.project,
    slug: item.slug,
    name: item.name,
    project_name: item.projectName,
    engine: item.engine,
    operation: item.operation,
    data: JSON.stringify(item.data),
    deleted_at: item.deletedAt,
    deleted_by: item.deletedBy,
    purge_at: item.purgeAt,
    content: JSON.stringify({ database: item.database, secrets: item.secrets } satisfies Content),
  }
}

function itemOf(row: TrashTable): TrashItem {
  const { project, rows, database = null, kept = [] } = contentOf(row)
  return {
    id: row.id,
    kind: row.kind as TrashKind,
    state: row.state as TrashState,
    project: row.project,
    slug: row.slug,
    projectName: row.project_name,
    name: row.name,
    engine: row.engine as EngineName,
    operation: row.operation,
    data: JSON.parse(row.data) as readonly TrashData[],
    deletedAt: row.deleted_at,
    deletedBy: row.deleted_by,
    purgeAt: row.purge_at,
    path: project?.path ?? null,
    hosts: (rows?.domains ?? []).map(({ host }) => host),
    writtenBy: Object.fromEntries(kept.map(({ name, version }) => [name, version])),
    database,
  }
}

const contentOf = (row: TrashTable) => JSON.parse(row.content) as Content
