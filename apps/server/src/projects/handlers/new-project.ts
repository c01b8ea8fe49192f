import { templateOf } from '@stackquay/catalog'
import { type EngineName, ProblemError, type ProjectCreate, type ProjectPatch } from '@stackquay/contract'
import { emptySpec, mergeProject, type ProjectSpec } from '@stackquay/domain'
import type { ProjectSource } from '@stackquay/store'
import type { RequestContext } from '../../http/handler.ts'
import { withoutCredentials } from '../../source/git-url.ts'
import { limitsBlocker } from '../engine-limits.ts'
import { type ExtractedSecrets, extractSecrets } from '../extract-secrets.ts'
import { type SourcePlace, templatePlace } from '../files-of.ts'
import { manifestBody } from '../manifest-body.ts'
import { readManifest } from '../manifest-file.ts'
import { refuseErrors } from '../prepare.ts'
import { invalid, type ProjectsDeps } from './deps.ts'
import { withoutReadOnly } from './without-read-only.ts'

export interface Beginning {
  readonly spec: ProjectSpec
  readonly extracted: ExtractedSecrets
  readonly source: ProjectSource
  /** Of an existing folder; null when the service makes one. */
  readonly path: string | null
  /** Where its files are already; null when they are still to come. */
  readonly facts: SourcePlace | null
}

/** The specification that a new project begins with, and where its files come from. */
export async function beginning(
  id: string,
  body: ProjectCreate,
  engineName: EngineName,
  context: RequestContext,
  { store, catalogue, sources, engines }: ProjectsDeps,
): Promise<Beginning> {
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
    facts = templatePlace(id, template)
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
  const extracted = await extractSecrets(spec, withoutReadOnly(body), store)
  const merged = mergeProject(spec, extracted.patch, extracted.env, offers, 'enables')
  refuseErrors([
    ...extracted.errors,
    ...(merged.ok ? limitsBlocker(engines.named(engineName), emptySpec(body.name), merged.spec) : merged.errors),
  ])
  if (merged.ok) spec = merged.spec
  return { spec, extracted, source, path, facts }
}

/** For the plan of a folder that nobody described yet: what will be found there. */
export async function specToPlan(
  spec: ProjectSpec,
  place: SourcePlace,
  body: ProjectCreate,
  engineName: EngineName,
  { catalogue, filesOf, resolver, workers }: ProjectsDeps,
): Promise<ProjectSpec> {
  if (Object.keys(spec.runtimes).length > 0 || (body.path === undefined && body.template === undefined)) return spec
  const offers = await catalogue.offers(engineName)
  const text = await readManifest(await filesOf(place), place.path)
  const patch = text === null ? null : (await manifestBody(workers, text, spec)).patch
  const best = patch === null ? (await resolver.detect(place))[0] : undefined
  const merged =
    patch !== null
      ? mergeProject(spec, patch, {}, offers, 'enables')
      : best === undefined
        ? null
        : mergeProject(spec, { [best.runtime]: best.detected.settings }, {}, offers, 'enables')
  return merged?.ok === true ? merged.spec : spec
}
