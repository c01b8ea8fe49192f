import type { Plan } from '@stackquay/contract'
import { pruneOf } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from './answers.ts'
import { type ChangeDeps, proposeChange } from './change-project.ts'
import { type ManifestBody, manifestBody, missingSecretWarnings } from './manifest-body.ts'

type ManifestHandlers = Pick<Handlers, 'getManifest' | 'getManifestSchema' | 'planManifest' | 'applyManifest'>

export function manifestHandlers(deps: ChangeDeps, { find, holds, change }: ProjectAnswers): ManifestHandlers {
  /** The file as a change of this project; with `prune` also of what it does not name. */
  const changeOf = async (
    row: ProjectRow,
    body: { manifest: string; prune?: boolean | undefined },
  ): Promise<ManifestBody> => {
    const read = await manifestBody(deps.workers, body.manifest, row.spec)
    return body.prune === true ? { ...read, patch: pruneOf(row.spec, read.patch) } : read
  }

  return {
    getManifestSchema: async () => {
      const { manifestSchema } = await import('@stackquay/domain/manifest-schema')
      return { status: 200, body: manifestSchema() }
    },

    getManifest: async ({ params }) => {
      const row = await find(params.id)
      const { printManifest } = await import('@stackquay/domain/print-manifest')
      return { status: 200, body: { manifest: printManifest(row.spec) } }
    },

    planManifest: async ({ params, body }) => {
      const row = await find(params.id)
      const { patch, missingSecrets } = await changeOf(row, body)
      const proposed = await proposeChange(row, patch, deps, { naming: 'enables' })
      return { status: 200, body: withWarnings(proposed.plan, missingSecrets) }
    },

    applyManifest: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      const { patch, missingSecrets } = await changeOf(row, body)
      const answer = await change(row, patch, context, 'project.manifest.apply', query, { naming: 'enables' })
      if (query.dryRun !== true) return answer
      return { ...answer, body: withWarnings(answer.body as Plan, missingSecrets) }
    },
  }
}

function withWarnings({ plan }: Plan, missingSecrets: readonly string[]): Plan {
  return { plan: { ...plan, warnings: [...plan.warnings, ...missingSecretWarnings(missingSecrets)] } }
}
