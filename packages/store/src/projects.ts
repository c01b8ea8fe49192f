import type { EngineName } from '@stackquay/contract'
import { type ProjectSpec, sameSpec } from '@stackquay/domain'
import { sql } from 'kysely'
import { canonicalJsonOf } from './canonical-json.ts'
import type { Reading, Writing } from './context.ts'
import { ChangedError, TakenError } from './errors.ts'
import { given, givenRow, statement } from './prepared.ts'
import type { ProjectsTable } from './schema.ts'
import type {
  Desired,
  NewProject,
  ProjectPhase,
  ProjectReader,
  ProjectRow,
  ProjectSource,
  Transaction,
} from './store.ts'
import { containing } from './text.ts'

/** In the order of ids, which is the order of creation, and holds when the project at the cursor is deleted meanwhile. */
export function projectReader({ db, prepare }: Reading): ProjectReader {
  const from = db.selectFrom('projects').selectAll()
  const byId = prepare(from.where('id', '=', given<string>('id')))
  const bySlug = prepare(from.where('slug', '=', given<string>('slug')))
  const byFormerSlug = prepare(
    db
      .selectFrom('former_slugs')
      .innerJoin('projects', 'projects.id', 'former_slugs.project')
      .selectAll('projects')
      .where('former_slugs.slug', '=', given<string>('slug')),
  )
  const page = from.where('id', '>', given<string>('cursor')).orderBy('id').limit(given<number>('limit'))
  const listed = prepare(page)
  const found = prepare(page.where(sql<boolean>`search like ${given<string>('pattern')} escape '\\'`))
  const everything = prepare(from.orderBy('id'))
  const revised = prepare(
    db
      .selectFrom('projects')
      .select(['id', 'revision'])
      .where('id', '>', given<string>('cursor'))
      .orderBy('id')
      .limit(given<number>('limit')),
  )

  return {
    find: async (idOrSlug) => {
      const slug = idOrSlug
      const row = byId({ id: idOrSlug })[0] ?? bySlug({ slug })[0] ?? byFormerSlug({ slug })[0]
      return row === undefined ? null : projectOf(row)
    },
    list: async ({ limit, cursor = '', q, ids }) => {
      if (ids !== undefined) {
        if (ids.length === 0) return []
        let query = from
          .where('id', 'in', [...ids])
          .where('id', '>', cursor)
          .orderBy('id')
          .limit(limit)
        if (q !== undefined) query = query.where(sql<boolean>`search like ${containing(q)} escape '\\'`)
        return (await query.execute()).map(projectOf)
      }
      const rows = q === undefined ? listed({ cursor, limit }) : found({ cursor, limit, pattern: containing(q) })
      return rows.map(projectOf)
    },
    all: async () => everything({}).map(projectOf),
    revisions: async ({ limit, cursor = '' }) =>
      revised({ cursor, limit }).map(({ id, revision }) => ({ id, revision })),
  }
}

const columns = {
  id: true,
  slug: true,
  engine: true,
  desired: true,
  phase: true,
  path: true,
  source: true,
  generation: true,
  observed_generation: true,
  held_spec: true,
  revision: true,
  state_since: true,
  created_at: true,
  updated_at: true,
  search: true,
  spec: true,
  asleep: true,
  last_used_at: true,
} as const
const projectById = statement((db) => db.selectFrom('projects').selectAll().where('id', '=', given<string>('id')))
const updateProject = statement((db) =>
  db.updateTable('projects').set(givenRow<ProjectsTable>(columns)).where('id', '=', given<string>('id')),
)
const forgetVersions = statement((db) =>
  db.deleteFrom('secret_versions').where('project', '=', given<string>('project')),
)

export function projectWriter(writing: Writing): Transaction['projects'] {
  const { db, run, now } = writing
  return {
    insert: async (project) => {
      const holder = await holderOf(project.slug, writing)
      if (holder !== null) throw new TakenError('slug', holder)
      const row = rowOf(project, now)
      await db.insertInto('projects').values(row).execute()
      return projectOf(row)
    },

    update: async (id, expected, change) => {
      const [before] = run(projectById, { id })
      if (before === undefined) throw gone(id)
      if (before.generation !== expected) {
        throw new ChangedError(
          `Project ${id} was changed in the meantime: it has generation ${before.generation}, not ${expected}.`,
        )
      }
      const spec = change.spec ?? (JSON.parse(before.spec) as ProjectSpec)
      const differs = canonicalJsonOf(spec) !== canonicalJsonOf(JSON.parse(before.spec))
      const after: ProjectsTable = {
        ...before,
        spec: differs ? JSON.stringify(spec) : before.spec,
        search: searchText(before.slug, spec),
        desired: change.desired ?? before.desired,
        generation: before.generation + (differs ? 1 : 0),
        held_spec: differs && before.held_spec === null ? before.spec : before.held_spec,
        revision: before.revision + 1,
        updated_at: now,
      }
      if (change.isCarriedOut === true) {
        Object.assign(after, { observed_generation: after.generation, held_spec: null })
        run(forgetVersions, { project: id })
      }
      run(updateProject, after)
      return projectOf(after)
    },

    carriedOut: (id, generation, spec) => carriedOut(id, generation, spec, writing),

    rename: (id, expected, slug, until) => rename(id, { expected, slug, until }, writing),

    used: async (uses) => {
      for (const { id, at } of uses)
        await db.updateTable('projects').set({ last_used_at: at }).where('id', '=', id).execute()
    },

    setLifecycle: async (id, { desired, asleep, phase, source, path, stateSince }) => {
      const row = await db
        .updateTable('projects')
        .set({
          desired,
          // Whatever else it is to be, it sleeps no longer.
          asleep: desired === undefined ? undefined : asleepText(desired, asleep),
          // Whoever starts it is about to use it.
          last_used_at: desired === 'running' ? now : undefined,
          phase,
          source: source === undefined ? undefined : source === null ? null : JSON.stringify(source),
          path,
          state_since: stateSince,
          revision: sql<number>`revision + 1`,
          updated_at: now,
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw gone(id)
      return projectOf(row)
    },

    delete: async (id) => {
      writing.leasesChanged = true
      await db.deleteFrom('projects').where('id', '=', id).execute()
    },
  }
}

function rowOf(project: NewProject, now: string): ProjectsTable {
  return {
    id: project.id,
    slug: project.slug,
    engine: project.engine,
    desired: project.desired,
    phase: project.phase,
    path: project.path,
    source: project.source === null ? null : JSON.stringify(project.source),
    generation: 1,
    observed_generation: 1,
    held_spec: null,
    revision: 1,
    state_since: now,
    created_at: now,
    updated_at: now,
    search: searchText(project.slug, project.spec),
    spec: JSON.stringify(project.spec),
    asleep: null,
    last_used_at: null,
  }
}

function asleepText(desired: Desired, asleep: ProjectRow['asleep'] = null): string | null {
  return desired === 'sleeping' && asleep !== null ? JSON.stringify(asleep) : null
}

const mostFormerSlugs = 5

async function rename(
  id: string,
  { expected, slug, until }: { readonly expected: string; readonly slug: string; readonly until: string | null },
  writing: Pick<Writing, 'db' | 'now'>,
): Promise<ProjectRow> {
  const { db, now } = writing
  const before = await db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst()
  if (before === undefined) throw gone(id)
  if (before.slug !== expected) throw new ChangedError(`Project ${id} was renamed in the meantime.`)
  const holder = await holderOf(slug, writing)
  if (holder !== null && holder !== id) throw new TakenError('slug', holder)
  const after: ProjectsTable = {
    ...before,
    slug,
    search: searchText(slug, JSON.parse(before.spec) as ProjectSpec),
    revision: before.revision + 1,
    updated_at: now,
  }
  await db.deleteFrom('former_slugs').where('slug', '=', slug).execute()
  await db.updateTable('projects').set(after).where('id', '=', id).execute()
  if (until !== null) await db.insertInto('former_slugs').values({ slug: before.slug, project: id, until }).execute()
  const own = db.selectFrom('former_slugs').select('slug').where('project', '=', id)
  const kept = own.orderBy('until', 'desc').orderBy('slug').limit(mostFormerSlugs)
  await db.deleteFrom('former_slugs').where('project', '=', id).where('slug', 'not in', kept).execute()
  return projectOf(after)
}

/** The project that has a slug, or had it and keeps it for a while. */
export async function holderOf(slug: string, { db }: Pick<Writing, 'db'>): Promise<string | null> {
  const now = await db.selectFrom('projects').select('id').where('slug', '=', slug).executeTakeFirst()
  if (now !== undefined) return now.id
  const former = await db.selectFrom('former_slugs').select('project').where('slug', '=', slug).executeTakeFirst()
  return former?.project ?? null
}

/** What was changed since and changes no program counts as carried out too. */
async function carriedOut(
  id: string,
  generation: number,
  spec: ProjectSpec,
  { run }: Pick<Writing, 'run'>,
): Promise<ProjectRow> {
  const [before] = run(projectById, { id })
  if (before === undefined) throw gone(id)
  // A newer one needed nothing to be done, so it counted at once.
  if (generation < before.observed_generation) return projectOf(before)
  const wanted = JSON.parse(before.spec) as ProjectSpec
  const isAll = before.generation === generation || sameSpec({ ...wanted, name: spec.name }, spec)
  const after: ProjectsTable = {
    ...before,
    observed_generation: isAll ? before.generation : generation,
    held_spec: isAll ? null : JSON.stringify(spec),
    revision: before.revision + 1,
  }
  if (isAll) run(forgetVersions, { project: id })
  const isNews = after.observed_generation !== before.observed_generation || after.held_spec !== before.held_spec
  if (!isNews) return projectOf(before)
  run(updateProject, after)
  return projectOf(after)
}

function projectOf(row: ProjectsTable): ProjectRow {
  return {
    id: row.id,
    slug: row.slug,
    spec: JSON.parse(row.spec) as ProjectSpec,
    engine: row.engine as EngineName,
    generation: row.generation,
    observedGeneration: row.observed_generation,
    heldSpec: row.held_spec === null ? null : (JSON.parse(row.held_spec) as ProjectSpec),
    desired: row.desired as Desired,
    phase: row.phase as ProjectPhase,
    path: row.path,
    source: row.source === null ? null : (JSON.parse(row.source) as ProjectSource),
    asleep: row.asleep === null ? null : (JSON.parse(row.asleep) as ProjectRow['asleep']),
    lastUsedAt: row.last_used_at,
    stateSince: row.state_since,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

const searchText = (slug: string, spec: ProjectSpec) => `${slug}\n${spec.name}`.toLowerCase()

const gone = (id: string) => new ChangedError(`Project ${id} is not there any more.`)
