import type { EngineName } from '@stackquay/contract'
import { engineNames, type Plan, ProblemError, Secret } from '@stackquay/contract'
import { dataOfPart, ownNameBlocker, settingsPart, slugOf, withWorkOff } from '@stackquay/domain'
import {
  type NewProject,
  newId,
  type ProjectRow,
  type ProjectSource,
  type Store,
  type Transaction,
} from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import { queueOperation } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { engineForNew } from '../projects/engine-choice.ts'
import { sealSpec, withPendingSecrets } from '../projects/extract-secrets.ts'
import { invalid } from '../projects/handlers/deps.ts'
import { insertProject } from '../projects/handlers/insert-project.ts'
import { isReserved, nameTaken } from '../projects/handlers/names.ts'
import { refuseErrors } from '../projects/prepare.ts'
import type { Sources } from '../projects/sources.ts'
import { type BackupHandlerDeps, finders, planShown, refuseUnknownParts } from './backup-handlers.ts'
import { type OpenedBackup, openBackup } from './open-backup.ts'
import { addDomains, heldElsewhere } from './put-settings.ts'
import type { BackedUpSettings } from './settings-part.ts'

export interface RestoreAsDeps extends BackupHandlerDeps {
  readonly sources: Sources
  readonly network: Network
  readonly config: Pick<Config, 'baseDomain'>
}

/** A restore into a new project, before anything of it is written. */
interface Proposed {
  readonly project: NewProject
  readonly opened: OpenedBackup & { readonly settings: BackedUpSettings }
  readonly parts: readonly string[]
  /** Secrets of the specification that are still to be sealed. */
  readonly pending: readonly string[]
  readonly domains: BackedUpSettings['domains']
  readonly warnings: readonly string[]
}

export function restoreAsHandlers(
  deps: RestoreAsDeps,
  { answerProject }: ProjectAnswers,
): Pick<Handlers, 'restoreBackupAs'> {
  return {
    restoreBackupAs: async ({ params, query, body }, context) => {
      const proposed = await propose(params.backup, body, context, deps)
      if (query.dryRun === true) return { status: 200, body: planOfRestore(proposed) }
      const more = (tx: Transaction) => write(tx, proposed, context)
      const operation = await insertProject(proposed.project, context, deps, { user: null, more })
      await deps.network.renew(proposed.project.id)
      return answerProject({ ...proposed.project } as ProjectRow, operation, query.wait, context, 201)
    },
  }
}

async function propose(
  backup: string,
  body: {
    readonly name: string
    readonly slug?: string | undefined
    readonly parts?: readonly string[] | undefined
    readonly start?: boolean | undefined
  },
  context: RequestContext,
  deps: RestoreAsDeps,
): Promise<Proposed> {
  const { manifest } = finders(deps).any(backup)
  refuseUnknownParts(body.parts, manifest)
  const slug = body.slug ?? slugOf(body.name)
  await refuseSlug(slug, deps.store)
  const parts = manifest.parts
    .map(({ id }) => id)
    .filter((id) => id === settingsPart || (body.parts ?? [id]).includes(id))
  const { settings } = await openBackup(backup, [settingsPart], deps.backups)
  if (settings === null) throw new ProblemError('backup_locked', 'The settings of the backup do not open here.')
  const engine = await engineForNew(engineOf(manifest.engine), deps.engines, context.signal)
  const id = newId('prj')
  const { spec, names } = withPendingSecrets(withWorkOff({ ...settings.spec, name: body.name }))
  const project: NewProject = {
    id,
    slug,
    spec,
    engine,
    desired: body.start === true ? 'running' : 'stopped',
    phase: 'creating',
    path: await deps.sources.freeFolder(slug),
    source: sourceOf(settings.source),
  }
  const named = await domainsOf(settings, slug, deps)
  const blockers = (await deps.resolver.resolve({ id, slug, spec, engine, path: project.path })).errors.filter(
    ({ code }) => code !== 'cannot_run',
  )
  if (body.start === true) refuseErrors(blockers)
  const warnings = [...named.warnings, ...blockers.map(({ detail }) => detail)]
  const opened = { manifest, settings }
  return { project, opened, parts, pending: names, domains: named.domains, warnings }
}

async function refuseSlug(slug: string, store: Store): Promise<void> {
  if (slug === '' || isReserved(slug))
    throw invalid('/slug', 'invalid', 'Send a slug of lower-case letters, digits and hyphens.')
  const holder = await store.projects.find(slug)
  if (holder !== null) throw nameTaken(slug, holder)
}

function engineOf(name: string): EngineName {
  const known = engineNames.find((one) => one === name)
  if (known !== undefined) return known
  throw new ProblemError('engine_cannot', `The backup holds data of the engine "${name}", which is not known here.`)
}

/** What makes the folder of another project that project's own is no source of this one. */
function sourceOf(source: ProjectSource | null): ProjectSource {
  return source === null || ['folder', 'copy', 'branch'].includes(source.kind) ? { kind: 'empty' } : source
}

/** A name belongs to one project at a time: those that others have are left out. */
async function domainsOf({ domains }: BackedUpSettings, slug: string, { store, config }: RestoreAsDeps) {
  const free: { readonly host: string; readonly workload: string | null }[] = []
  const warnings: string[] = []
  for (const domain of domains) {
    const isOwn = ownNameBlocker(domain.host, slug, config)
    if ((await store.network.domain(domain.host)) !== null) warnings.push(heldElsewhere(domain.host))
    else if (isOwn !== null) warnings.push(isOwn)
    else free.push(domain)
  }
  return { domains: free, warnings }
}

async function write(
  tx: Transaction,
  { project, opened, parts, pending, domains, warnings }: Proposed,
  context: RequestContext,
) {
  const { id, spec } = project
  const { secrets, rules } = opened.settings
  const texts = new Map(pending.map((name) => [name, new Secret(secrets[name] ?? '')]))
  const sealed = await sealSpec(tx, id, spec, { texts, dropped: [] })
  if (texts.size > 0) await tx.projects.update(id, 1, { spec: sealed })
  for (const [name, text] of Object.entries(secrets)) if (!texts.has(name)) await tx.secrets.put(id, name, text)
  if (rules !== null) await tx.network.putRules(id, rules)
  const left = await addDomains(tx, id, domains)
  const input = { creates: true, backup: opened.manifest.id, parts, warnings: [...warnings, ...left] }
  return queueOperation(tx, 'restore', id, context, input)
}

function planOfRestore({ project, opened: { manifest }, parts, warnings }: Proposed): Plan {
  const title = (text: string, workload: string | null = null) => ({ title: text, workload, because: [] })
  const data = manifest.parts.filter((part) => parts.includes(part.id) && dataOfPart(part) !== null)
  return planShown({
    steps: [
      title('Compare the backup with its checksums'),
      title('Unpack the files'),
      ...data.map((part) => title(`Put ${part.title} back`, dataOfPart(part))),
      ...(project.desired === 'running' ? [title('Start the project')] : []),
    ],
    warnings: [...warnings],
  })
}
