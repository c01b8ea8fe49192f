import { templateOf } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { mergeProject, type ProjectSpec, withWorkOff } from '@stackquay/domain'
import type { WorkStep } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { limitsBlocker } from '../projects/engine-limits.ts'
import { extractSecrets } from '../projects/extract-secrets.ts'
import { templatePlace } from '../projects/files-of.ts'
import { readManifest } from '../projects/manifest-file.ts'
import { refuseErrors } from '../projects/prepare.ts'
import { readProjectFile } from '../projects/read-project-file.ts'
import { findProject, type OperationDeps } from './operation-deps.ts'

type Say = (text: string) => void

/** What the source itself says: its project file, or what it looks like. Nothing when runtimes were named already. */
export function readSource({ id }: ProjectRow, deps: OperationDeps): WorkStep {
  return {
    id: 'detect',
    title: 'Look at the source',
    run: async (context) => {
      const row = await findProject(deps.store, id)
      const say: Say = (text) => context.output({ stream: 'stdout', text: `${text}\n` })
      const isNamed = Object.keys(row.spec.runtimes).length > 0
      const spec = isNamed ? row.spec : await specOfSource(row, say, deps)
      await deps.store.transaction(async (tx) => {
        // Nothing was there before that it could be held against.
        const { generation } = await tx.projects.update(id, row.generation, { spec, isCarriedOut: true })
        await tx.projects.setLifecycle(id, { phase: 'ready' })
        await tx.events.append({ type: 'project.changed', project: id, data: { id, slug: row.slug, generation } })
      })
      const template = row.source?.kind === 'template' ? templateOf(row.source.template) : undefined
      if (template !== undefined) await deps.resolver.handOverFrom(templatePlace(id, template), { id, spec })
      await deps.model.renew(id, 'handedOver')
    },
  }
}

async function specOfSource(row: ProjectRow, say: Say, deps: OperationDeps): Promise<ProjectSpec> {
  const text = await readManifest(await deps.filesOf(row), row.path)
  return text === null ? detectedSpec(row, say, deps) : specOfFile(row, text, say, deps)
}

async function specOfFile(row: ProjectRow, text: string, say: Say, deps: OperationDeps): Promise<ProjectSpec> {
  const offers = await deps.catalogue.offers(row.engine)
  const parsed = await readProjectFile(deps.workers, text)
  if (!parsed.ok)
    throw new ProblemError('manifest_invalid', 'The stackquay.yml of the source is not valid.', {
      errors: parsed.errors,
    })
  const { name: _name, env: variables, ...body } = parsed.manifest.patch
  // What was sent when the project was created wins: it may be the text of a secret, and the file holds none.
  const sent = Object.entries(variables ?? {}).filter(([variable]) => !Object.hasOwn(row.spec.env, variable))
  const { patch, env } = await extractSecrets(row.spec, { ...body, env: Object.fromEntries(sent) }, deps.store)
  const merged = mergeProject(row.spec, patch, env, offers, 'enables')
  if (!merged.ok)
    throw new ProblemError('manifest_invalid', 'The stackquay.yml of the source does not fit this machine.', {
      errors: merged.errors,
    })
  refuseErrors(limitsBlocker(deps.engines.named(row.engine), row.spec, merged.spec))
  say('Took the settings of stackquay.yml.')
  return row.source?.kind === 'copy' || row.source?.kind === 'branch' ? withWorkOff(merged.spec) : merged.spec
}

async function detectedSpec(row: ProjectRow, say: Say, deps: OperationDeps): Promise<ProjectSpec> {
  const offers = await deps.catalogue.offers(row.engine)
  const best = (await deps.resolver.detect(row))[0]
  if (best === undefined) {
    say('Nothing was recognised: enable a runtime by hand.')
    return row.spec
  }
  say(`Runs with ${best.runtime}: ${best.detected.because}.`)
  const merged = mergeProject(row.spec, { [best.runtime]: best.detected.settings }, {}, offers, 'enables')
  if (!merged.ok)
    throw new ProblemError('unavailable_here', merged.errors[0]?.detail ?? 'Its runtime is not available here.', {
      errors: merged.errors,
    })
  return merged.spec
}
