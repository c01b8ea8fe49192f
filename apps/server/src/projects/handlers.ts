import { templateOf } from '@stackquay/catalog'
import { templateFolder } from '@stackquay/catalog/folders'
import {
  type EngineName,
  type FieldError,
  ProblemError,
  type ProjectCreate,
  type ProjectPatch,
  readOnlyProjectFields,
  type Secret,
} from '@stackquay/contract'
import { changesOf, emptySpec, mergeProject, type ProjectSpec, slugOf } from '@stackquay/domain'
import {
  type NewProject,
  newId,
  type OperationRow,
  type ProjectRow,
  type ProjectSource,
  TakenError,
} from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { requireProject } from '../http/rights.ts'
import { folderOwner } from '../isolation/folder-owner.ts'
import type { InstanceIsolation } from '../isolation/isolation.ts'
import { withoutCredentials } from '../source/git-url.ts'
import type { ProjectAnswers } from './answers.ts'
import {
  type ChangeDeps,
  isMissing,
  limitsObstacle,
  planOf,
  queueOperation,
  refuseBusy,
  submit,
} from './change-project.ts'
import { engineForNew, requireImages } from './engine-choice.ts'
import type { FilesOf, SourcePlace } from './files-of.ts'
import { manifestBody } from './manifest-body.ts'
import { readManifest } from './manifest-file.ts'
import { refuseErrors } from './prepare.ts'
import { createProjectList } from './project-list.ts'
import { sealSpec, setSecretsAside, withPendingSecrets } from './secrets-aside.ts'
import { sourceUrlSecret } from './source-url.ts'
import type { Sources } from './sources.ts'
import { straysOf } from './strays.ts'
import { isEnded, operationView, projectSummary } from './view.ts'

export interface ProjectsDeps extends ChangeDeps {
  readonly sources: Sources
  readonly filesOf: FilesOf
  readonly isolation: Pick<InstanceIsolation, 'users' | 'engine'>
}

type ProjectHandlers = Pick<
  Handlers,
  | 'listProjects'
  | 'createProject'
  | 'createFromManifest'
  | 'getProject'
  | 'updateProject'
  | 'deleteProject'
  | 'duplicateProject'
  | 'startProject'
  | 'stopProject'
  | 'restartProject'
  | 'listOperations'
  | 'getOperation'
  | 'cancelOperation'
>

export function projectHandlers(deps: ProjectsDeps, answers: ProjectAnswers): ProjectHandlers {
  const { store, model, resolver, catalogue, engine, engines, sources, filesOf, isolation } = deps
  const { find, record, wait, holds, answerProject, change } = answers
  const listAll = createProjectList({ store, model })

  /** Start, stop, restart: the wish, the operation, the audit entry and the event in one transaction. */
  const lifecycle = async (
    kind: 'start' | 'stop' | 'restart',
    input: {
      params: { id: string }
      query: { dryRun?: boolean | undefined; wait?: number | undefined }
      body: { workload?: string | undefined; newerImages?: boolean | undefined } | undefined
    },
    context: RequestContext,
  ) => {
    const row = await find(input.params.id)
    const workload = input.body?.workload
    const newerImages = input.body?.newerImages === true
    if (newerImages) requireImages(row.engine, engines, '/newerImages')
    let { resolved } = await model.renew(row.id)
    if (kind !== 'stop' && isMissing(resolved.errors)) {
      await catalogue.offersAnew(row.engine)
      resolved = (await model.renew(row.id)).resolved
    }
    if (workload !== undefined && !resolved.workloads.some((candidate) => candidate.ref.workload === workload)) {
      const known = resolved.workloads.map((candidate) => candidate.ref.workload).join(', ')
      throw invalid(
        '/workload',
        'unknown_workload',
        `There is no workload "${workload}"; there is ${known === '' ? 'none' : known}.`,
      )
    }
    if (kind !== 'stop') {
      refuseErrors(resolved.errors)
      if (resolved.workloads.length === 0)
        throw new ProblemError('validation_failed', 'The project has nothing to run.', {
          hint: 'Enable a runtime or add a database first.',
        })
    }
    if (input.query.dryRun === true) {
      const observed = await deps.orchestrator().observations.refresh(row.id)
      const request = {
        goal: kind === 'stop' ? ('stopped' as const) : ('running' as const),
        restart: kind === 'restart',
        newerImages,
        ...(workload === undefined ? {} : { only: workload }),
        ...(kind === 'stop' ? straysOf(engines.named(row.engine), row.id) : {}),
      }
      return { status: 200, body: planOf(engine, resolved, observed, request).plan }
    }
    const operation = await store.transaction(async (tx) => {
      await refuseBusy(store, row)
      if (kind !== 'stop') await tx.projects.setLifecycle(row.id, { desired: 'running' })
      else if (workload === undefined) await tx.projects.setLifecycle(row.id, { desired: 'stopped' })
      const about = {
        ...(workload === undefined ? {} : { workload }),
        ...(newerImages ? { newerImages } : {}),
      }
      const queued = await queueOperation(tx, kind, row.id, context, about)
      await tx.audit.append(
        context.audit({
          action: `project.${kind}`,
          target: row.slug,
          project: row.id,
          operationId: queued.id,
          changes: Object.keys(about).length === 0 ? null : about,
        }),
      )
      return queued
    })
    resolver.handOver(row.id, 1)
    submit(operation, deps)
    const ended = await wait(operation, input.query.wait, context)
    return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
  }

  /** The specification that a new project begins with, and where its files come from. */
  const beginning = async (id: string, body: ProjectCreate, engineName: EngineName, context: RequestContext) => {
    const named = [body.template, body.git, body.path].filter((one) => one !== undefined)
    if (named.length > 1) throw invalid('/template', 'too_many_sources', 'Choose one of template, git and path.')
    const offers = await catalogue.offers(engineName)
    let spec = emptySpec(body.name)
    let source: ProjectSource = { kind: 'empty' }
    let path: string | null = null
    let facts: SourcePlace | null = null
    if (body.template !== undefined) {
      const template = templateOf(body.template)
      if (template === undefined)
        throw invalid('/template', 'unknown_template', `There is no template "${body.template}". See GET /runtimes.`)
      const merged = mergeProject(spec, template.project as ProjectPatch, {}, offers, 'enables')
      if (!merged.ok) refuseErrors(merged.errors.map((error) => ({ ...error, pointer: '/template' })))
      else spec = merged.spec
      source = { kind: 'template', template: template.name }
      facts = { id, path: templateFolder(template), builtIn: true }
    } else if (body.git !== undefined) {
      const git = { url: body.git.url, branch: body.git.branch ?? null }
      await sources.checkGit(git, context.signal)
      source = { kind: 'git', url: withoutCredentials(git.url), branch: git.branch }
    } else if (body.path !== undefined) {
      path = await sources.checkFolder({ id, path: body.path })
      facts = { id, path }
      source = { kind: 'folder' }
      const taken = (await store.projects.all()).find((other) => other.path === path)
      if (taken !== undefined)
        throw new ProblemError('conflict', `The folder belongs to the project "${taken.slug}" already.`, {
          hint: 'Use that project, or choose another folder.',
        })
    }
    const aside = await setSecretsAside(spec, withoutReadOnly(body), store)
    const merged = mergeProject(spec, aside.patch, aside.env, offers, 'enables')
    refuseErrors([
      ...aside.errors,
      ...(merged.ok ? limitsObstacle(engines.named(engineName), emptySpec(body.name), merged.spec) : merged.errors),
    ])
    if (merged.ok) spec = merged.spec
    return { spec, aside, source, path, facts }
  }

  const createProject = async (
    body: ProjectCreate,
    query: { dryRun?: boolean | undefined; wait?: number | undefined },
    context: RequestContext,
  ) => {
    const slug = body.slug ?? slugOf(body.name)
    if (slug === '')
      throw invalid(
        '/slug',
        'required',
        `The name "${body.name}" has no letters or digits for an address; send a slug too.`,
      )
    if (isReserved(slug))
      throw new ProblemError(
        'conflict',
        `The name "${slug}" is kept: names of the service itself and names that end in "-dev" cannot be projects.`,
      )
    const holder = await store.projects.find(slug)
    if (holder !== null) throw nameTaken(slug, holder)
    const engineName = await engineForNew(body.engine, engines, context.signal)
    const id = newId('prj')
    const { spec, aside, source, path, facts } = await beginning(id, body, engineName, context)
    const wantsStart = body.start ?? true
    const owner = await ownerToRunAs(body, path, engineName, context)

    if (query.dryRun === true) {
      const place = facts ?? { id, path: await sources.freeFolder(slug) }
      const planned = await specToPlan(spec, place, body, engineName)
      const resolved = await resolver.resolve({ ...place, slug, spec: planned, engine: engineName })
      const { plan } = planOf(engines.named(engineName) ?? engine, resolved, [], {
        goal: wantsStart ? 'running' : 'stopped',
      })
      const first = { title: titleOfSource(source), workload: null, because: [] }
      const fatal = resolved.errors.filter((error) => error.code !== 'cannot_run' || source.kind !== 'git')
      return {
        status: 200,
        body: {
          plan: { ...plan.plan, steps: [first, ...plan.plan.steps], warnings: fatal.map((error) => error.detail) },
        },
      }
    }

    const project: NewProject = {
      id,
      slug,
      spec,
      engine: engineName,
      desired: wantsStart ? 'running' : 'stopped',
      phase: 'creating',
      path: path ?? (await sources.freeFolder(slug)),
      source,
    }
    const operation = await insertProject(project, context, async (tx) => {
      const sealed = await sealSpec(tx, id, spec, aside)
      if (aside.texts.size > 0) await tx.projects.update(id, 1, { spec: sealed })
      if (source.kind === 'git' && body.git !== undefined && body.git.url !== source.url)
        await tx.secrets.put(id, sourceUrlSecret, body.git.url)
      if (owner !== null) await isolation.users?.adopt(tx, id, owner)
      return queueOperation(tx, 'create', id, context, {})
    }).catch((error: unknown) => {
      isolation.users?.disown(id)
      throw error
    })
    return answerProject({ ...project } as ProjectRow, operation, query.wait, context, 201)
  }

  const ownerToRunAs = async (
    { runAs }: ProjectCreate,
    path: string | null,
    engineName: EngineName,
    context: RequestContext,
  ) => {
    if (runAs === undefined) return null
    if (path === null)
      throw invalid('/runAs', 'needs_path', 'Only a project of an existing folder runs as its owner; send a path.')
    return folderOwner({ path, engine: engineName, isolation, context })
  }

  /** For the plan of a folder that nobody described yet: what will be found there. */
  const specToPlan = async (
    spec: ProjectSpec,
    place: SourcePlace,
    body: ProjectCreate,
    engineName: EngineName,
  ): Promise<ProjectSpec> => {
    if (Object.keys(spec.runtimes).length > 0 || (body.path === undefined && body.template === undefined)) return spec
    const offers = await catalogue.offers(engineName)
    const text = await readManifest(await filesOf(place), place.path)
    const patch = text === null ? null : (await manifestBody(deps.workers, text, spec)).patch
    const best = patch === null ? (await resolver.detect(place))[0] : undefined
    const merged =
      patch !== null
        ? mergeProject(spec, patch, {}, offers, 'enables')
        : best === undefined
          ? null
          : mergeProject(spec, { [best.runtime]: best.detected.settings }, {}, offers, 'enables')
    return merged?.ok === true ? merged.spec : spec
  }

  const insertProject = async (
    project: NewProject,
    context: RequestContext,
    more: (tx: Parameters<Parameters<typeof store.transaction>[0]>[0]) => Promise<OperationRow>,
  ): Promise<OperationRow> => {
    try {
      const operation = await store.transaction(async (tx) => {
        await tx.projects.insert(project)
        const queued = await more(tx)
        await tx.audit.append(
          context.audit({
            action: queued.kind === 'duplicate' ? 'project.duplicate' : 'project.create',
            target: project.slug,
            project: project.id,
            operationId: queued.id,
            changes: {
              source: project.source,
              engine: project.engine,
              ...(changesOf(emptySpec(project.spec.name), project.spec) as object),
            },
          }),
        )
        await tx.events.append({
          type: 'project.created',
          project: project.id,
          data: { id: project.id, slug: project.slug, name: project.spec.name },
        })
        return queued
      })
      try {
        await model.renew(project.id)
      } finally {
        submit(operation, deps)
      }
      return operation
    } catch (error) {
      if (error instanceof TakenError) throw nameTaken(project.slug, await store.projects.find(project.slug))
      throw error
    }
  }

  return {
    listProjects: async ({ query }, context) => {
      const limit = query.limit ?? 50
      const restricted =
        context.principal.kind === 'token' && context.principal.projects.length > 0 ? context.principal.projects : null
      const cursor = query.cursor === undefined ? {} : { cursor: query.cursor }
      if (restricted === null && query.q === undefined && query.state === undefined) {
        return { status: 200, json: await listAll({ limit, ...cursor }) }
      }
      const rows: ProjectRow[] = []
      let more = true
      let after = query.cursor
      // A filter by state is over what is derived, so pages are read until one is full.
      while (more && rows.length <= limit) {
        const page = await store.projects.list({
          limit: 200,
          ...(after === undefined ? {} : { cursor: after }),
          ...(query.q === undefined ? {} : { q: query.q }),
          ...(restricted === null ? {} : { ids: restricted }),
        })
        rows.push(
          ...page.filter(
            (row) =>
              query.state === undefined || (model.find(row.id) !== null && model.status(row.id).state === query.state),
          ),
        )
        more = page.length === 200
        after = page.at(-1)?.id
      }
      const shown = rows.slice(0, limit)
      const items = shown.flatMap((row) => {
        const parts = model.parts(row.id)
        return parts === null ? [] : [projectSummary(parts)]
      })
      return { status: 200, body: { items, nextCursor: rows.length > limit ? shown.at(-1)!.id : null } }
    },

    createProject: ({ body, query }, context) => createProject(body as ProjectCreate, query, context),

    createFromManifest: async ({ body, query }, context) => {
      const manifest = (await manifestBody(deps.workers, body.manifest, emptySpec(''))).patch
      const name = body.name ?? manifest.name
      if (name === undefined)
        throw invalid('/name', 'required', 'The project file names no project; add `name:` to it or send a name.')
      const create: ProjectCreate = {
        ...manifest,
        name,
        ...(body.path === undefined ? {} : { path: body.path }),
        ...(body.engine === undefined ? {} : { engine: body.engine }),
        ...(body.start === undefined ? {} : { start: body.start }),
      }
      return createProject(create, query, context)
    },

    getProject: async ({ params }) => {
      const row = await find(params.id)
      if (model.find(row.id)?.row.revision !== row.revision) await model.renew(row.id)
      const body = record(row.id)
      return { status: 200, body, etag: String(body.generation) }
    },

    updateProject: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      return change(row, withoutReadOnly(body as ProjectPatch), context, 'project.update', query)
    },

    deleteProject: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      const data = query.data ?? 'keep'
      const names = data === 'delete' ? await engine.dataNames(row.id, context.signal) : []
      if (query.dryRun === true) {
        const observed = await deps.orchestrator().observations.refresh(row.id)
        const strays = straysOf(engines.named(row.engine), row.id, { commands: true })
        const nothing = { ...(await model.renew(row.id)).resolved, workloads: [], unresolved: [], errors: [] }
        return {
          status: 200,
          body: planOf(engine, nothing, observed, { goal: 'stopped', ...strays }, { deletesData: names }).plan,
        }
      }
      if (query.confirm !== row.slug) {
        throw new ProblemError('validation_failed', `Deleting needs ?confirm=${row.slug}.`, {
          errors: [{ pointer: '?confirm', code: 'confirm', detail: `Type the project’s slug: ${row.slug}.` }],
        })
      }
      const operation = await store.transaction(async (tx) => {
        await refuseBusy(store, row)
        await tx.projects.setLifecycle(row.id, { phase: 'deleting', desired: 'stopped' })
        const queued = await queueOperation(tx, 'delete', row.id, context, { data })
        await tx.audit.append(
          context.audit({
            action: 'project.delete',
            target: row.slug,
            project: row.id,
            operationId: queued.id,
            changes: { data, path: row.path },
          }),
        )
        return queued
      })
      try {
        await model.renew(row.id)
      } finally {
        submit(operation, deps)
      }
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },

    duplicateProject: async ({ params, query, body }, context) => {
      const original = await find(params.id)
      const slug = body.slug ?? slugOf(body.name)
      const holder = await store.projects.find(slug)
      if (slug === '' || isReserved(slug))
        throw invalid('/slug', 'invalid', 'Send a slug of lower-case letters, digits and hyphens.')
      if (holder !== null) throw nameTaken(slug, holder)
      await refuseBusy(store, original)
      if (original.phase !== 'ready')
        throw new ProblemError('busy', `The project "${original.slug}" is not ready to be copied.`)
      const id = newId('prj')
      const pending = withPendingSecrets(original.spec)
      const project: NewProject = {
        id,
        slug,
        spec: { ...pending.spec, name: body.name },
        engine: original.engine,
        desired: body.start === false ? 'stopped' : 'running',
        phase: 'creating',
        path: await sources.freeFolder(slug),
        source: { kind: 'copy', of: original.id },
      }
      const operation = await insertProject(project, context, async (tx) => {
        // The data of a database knows its passwords, so the copy keeps them; variables keep their texts.
        const texts = new Map<string, Secret>()
        for (const [name, handle] of Object.entries(await store.secrets.of(original.id))) {
          if (name === sourceUrlSecret) continue
          const text = await store.secrets.reveal(handle.secret)
          if (pending.names.includes(name)) texts.set(name, text)
          else await tx.secrets.put(id, name, text.expose())
        }
        const spec = await sealSpec(tx, id, project.spec, { texts, dropped: [] })
        if (texts.size > 0) await tx.projects.update(id, 1, { spec })
        return queueOperation(tx, 'duplicate', id, context, { of: original.id })
      })
      return answerProject({ ...project } as ProjectRow, operation, query.wait, context, 201)
    },

    startProject: (input, context) => lifecycle('start', input, context),
    stopProject: (input, context) => lifecycle('stop', input, context),
    restartProject: (input, context) => lifecycle('restart', input, context),

    listOperations: async ({ query }, context) => {
      const limit = query.limit ?? 50
      const restricted =
        context.principal.kind === 'token' && context.principal.projects.length > 0
          ? context.principal.projects
          : undefined
      let project: string | undefined
      if (query.project !== undefined) {
        project = (await store.projects.find(query.project))?.id ?? query.project
        if (restricted !== undefined && !restricted.includes(project))
          throw new ProblemError('project_forbidden', 'The token is restricted to other projects.')
      }
      const rows = await store.operations.list({
        limit: limit + 1,
        ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
        ...(project === undefined ? {} : { project }),
        ...(restricted === undefined ? {} : { projects: restricted }),
        ...(query.state === undefined ? {} : { state: query.state }),
        ...(query.active === undefined ? {} : { active: query.active }),
      })
      const shown = rows.slice(0, limit)
      return {
        status: 200,
        body: { items: shown.map(operationView), nextCursor: rows.length > limit ? shown.at(-1)!.id : null },
      }
    },

    getOperation: async ({ params, query }, context) => {
      const operation = await findOperation(params.op, context)
      return { status: 200, body: operationView(await wait(operation, query.wait, context)) }
    },

    cancelOperation: async ({ params, query }, context) => {
      const operation = await findOperation(params.op, context)
      if (isEnded(operation)) return { status: 200, body: operationView(operation) }
      await store.transaction((tx) =>
        tx.audit.append(
          context.audit({
            action: 'operation.cancel',
            target: operation.id,
            project: operation.project,
            operationId: operation.id,
            changes: { kind: operation.kind },
          }),
        ),
      )
      deps.orchestrator().cancel(operation.id)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }

  async function findOperation(id: string, context: RequestContext): Promise<OperationRow> {
    const operation = await store.operations.find(id)
    requireProject(context, operation?.project ?? null)
    if (operation === null) throw new ProblemError('not_found', `There is no operation "${id}".`)
    return operation
  }
}

/** Host names below the base domain that projects cannot have. */
const reservedSlugs = new Set(['stackquay', 'api', 'www', 'share'])

/** `<slug>-dev` is where the dev server of another project would answer. */
function isReserved(slug: string): boolean {
  return reservedSlugs.has(slug) || slug.endsWith('-dev')
}

function titleOfSource(source: ProjectSource): string {
  switch (source.kind) {
    case 'template':
      return 'Copy the template'
    case 'git':
      return `Clone ${source.url}, then look at the source`
    case 'folder':
      return 'Use the folder'
    case 'copy':
      return 'Copy the files'
    case 'empty':
      return 'Make the folder'
    default:
      return source satisfies never
  }
}

function nameTaken(slug: string, holder: ProjectRow | null): ProblemError {
  const whose = holder === null ? '' : ` by the project "${holder.spec.name}"`
  return new ProblemError('conflict', `The name "${slug}" is taken${whose}.`, {
    hint: 'Choose another name, or send a slug of its own.',
    errors: [{ pointer: '/name', code: 'taken', detail: `"${slug}" is taken.` }],
  })
}

/** A whole answer of GET is a valid PATCH: fields that cannot be changed are left aside. */
function withoutReadOnly(body: ProjectPatch | ProjectCreate): ProjectPatch {
  const ignored = new Set<string>([...readOnlyProjectFields, 'template', 'git', 'path', 'runAs', 'slug', 'start'])
  return Object.fromEntries(Object.entries(body).filter(([field]) => !ignored.has(field))) as ProjectPatch
}

function invalid(pointer: string, code: string, detail: string): ProblemError {
  const errors: FieldError[] = [{ pointer, code, detail }]
  return new ProblemError('validation_failed', detail, { errors })
}
