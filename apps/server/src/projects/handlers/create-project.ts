import type { EngineName, ProjectCreate } from '@stackquay/contract'
import { emptySpec, slugOf } from '@stackquay/domain'
import {
  type NewProject,
  newId,
  type ProjectRow,
  type ProjectSource,
  type Store,
  type Transaction,
} from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { folderOwner } from '../../isolation/folder-owner.ts'
import type { ChosenUser } from '../../isolation/user-records.ts'
import { queueOperation } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import { engineForNew } from '../engine-choice.ts'
import { sealSpec } from '../extract-secrets.ts'
import { manifestBody } from '../manifest-body.ts'
import { planOf } from '../plan.ts'
import { sourceUrlSecret } from '../source-url.ts'
import { invalid, type ProjectsDeps } from './deps.ts'
import { insertProject } from './insert-project.ts'
import { nameTaken, refuseReserved } from './names.ts'
import { type Beginning, beginning, specToPlan } from './new-project.ts'

interface Query {
  readonly dryRun?: boolean | undefined
  readonly wait?: number | undefined
}

export function createHandlers(
  deps: ProjectsDeps,
  answers: ProjectAnswers,
): Pick<Handlers, 'createProject' | 'createFromManifest'> {
  return {
    createProject: ({ body, query }, context) => create(body as ProjectCreate, query, context, deps, answers),
    createFromManifest: async ({ body, query }, context) => {
      const manifest = (await manifestBody(deps.workers, body.manifest, emptySpec(''))).patch
      const name = body.name ?? manifest.name
      if (name === undefined)
        throw invalid('/name', 'required', 'The project file names no project; add `name:` to it or send a name.')
      const wanted: ProjectCreate = {
        ...manifest,
        name,
        ...(body.path === undefined ? {} : { path: body.path }),
        ...(body.engine === undefined ? {} : { engine: body.engine }),
        ...(body.start === undefined ? {} : { start: body.start }),
      }
      return create(wanted, query, context, deps, answers)
    },
  }
}

async function create(
  body: ProjectCreate,
  query: Query,
  context: RequestContext,
  deps: ProjectsDeps,
  answers: ProjectAnswers,
) {
  const { sources, isolation } = deps
  const slug = await freeSlug(body, deps.store)
  const engine = await engineForNew(body.engine, deps.engines, context.signal)
  const id = newId('prj')
  const begun = await beginning(id, body, engine, context, deps)
  const { spec, extracted, source, path } = begun
  const owner = await ownerToRunAs(body, path, engine, context, deps)
  if (query.dryRun === true) return planCreation({ id, slug, engine }, body, begun, deps)

  const project: NewProject = {
    id,
    slug,
    spec,
    engine,
    desired: (body.start ?? true) ? 'running' : 'stopped',
    phase: 'creating',
    path: path ?? (await sources.freeFolder(slug)),
    source,
  }
  const schedule = await deps.newSchedule()
  const more = async (tx: Transaction) => {
    if (schedule !== null) await tx.backupSchedules.put(id, schedule)
    const sealed = await sealSpec(tx, id, spec, extracted)
    if (extracted.texts.size > 0) await tx.projects.update(id, 1, { spec: sealed })
    if (source.kind === 'git' && body.git !== undefined && body.git.url !== source.url)
      await tx.secrets.put(id, sourceUrlSecret, body.git.url)
    return queueOperation(tx, 'create', id, context, {}, true)
  }
  const user = await userFor(id, { path, owner }, isolation)
  const operation = await insertProject(project, context, deps, { user, more })
  return answers.answerProject({ ...project } as ProjectRow, operation, query.wait, context, 201)
}

async function freeSlug(body: ProjectCreate, store: Store): Promise<string> {
  const slug = body.slug ?? slugOf(body.name)
  if (slug === '')
    throw invalid(
      '/slug',
      'required',
      `The name "${body.name}" has no letters or digits for an address; send a slug too.`,
    )
  refuseReserved(slug)
  const holder = await store.projects.find(slug)
  if (holder !== null) throw nameTaken(slug, holder)
  return slug
}

async function ownerToRunAs(
  { runAs }: ProjectCreate,
  path: string | null,
  engine: EngineName,
  context: RequestContext,
  { isolation }: ProjectsDeps,
) {
  if (runAs === undefined) return null
  if (path === null)
    throw invalid('/runAs', 'needs_path', 'Only a project of an existing folder runs as its owner; send a path.')
  return folderOwner({ path, engine, isolation, context })
}

/** A folder that is there is looked at as its owner until the project's user may work in it, so that user comes when it is needed. */
async function userFor(
  id: string,
  { path, owner }: { readonly path: string | null; readonly owner: Awaited<ReturnType<typeof ownerToRunAs>> },
  { users }: ProjectsDeps['isolation'],
): Promise<ChosenUser | null> {
  if (users === null) return null
  if (owner !== null) return users.adopt(id, owner)
  return path === null ? users.reserve(id) : null
}

async function planCreation(
  { id, slug, engine }: Pick<NewProject, 'id' | 'slug' | 'engine'>,
  body: ProjectCreate,
  { spec, source, facts }: Beginning,
  deps: ProjectsDeps,
) {
  const place = facts ?? { id, path: await deps.sources.freeFolder(slug) }
  const planned = await specToPlan(spec, place, body, engine, deps)
  const resolved = await deps.resolver.resolve({ ...place, slug, spec: planned, engine })
  const goal = (body.start ?? true) ? 'running' : 'stopped'
  const { plan } = planOf(deps.engines.named(engine) ?? deps.engine, resolved, [], { goal })
  const first = { title: titleOfSource(source), workload: null, because: [] }
  const fatal = resolved.errors.filter((error) => error.code !== 'cannot_run' || source.kind !== 'git')
  const warnings = fatal.map((error) => error.detail)
  return { status: 200, body: { plan: { ...plan.plan, steps: [first, ...plan.plan.steps], warnings } } }
}

function titleOfSource(source: ProjectSource): string {
  switch (source.kind) {
    case 'template':
      return 'Copy the template'
    case 'git':
      return `Clone ${source.url}, then look at the source`
    case 'folder':
      return 'Use the folder'
    case 'branch':
    case 'copy':
      return 'Copy the files'
    case 'empty':
      return 'Make the folder'
    default:
      return source satisfies never
  }
}
