import { type FieldError, ProblemError } from '@stackquay/contract'
import { mergeHealthCheck } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { Model } from '../projects/model.ts'
import { tryCheck } from './try-check.ts'

export interface HealthCheckDeps {
  readonly store: { readonly projects: Pick<Store['projects'], 'find'> }
  readonly engine: Pick<Engine, 'address'>
  readonly model: Pick<Model, 'find'>
}

export function healthCheckHandlers({ store, engine, model }: HealthCheckDeps): Pick<Handlers, 'tryHealthCheck'> {
  return {
    tryHealthCheck: async ({ params, body }, { signal }) => {
      const row = await store.projects.find(params.id)
      if (row === null) throw new ProblemError('not_found', `There is no project "${params.id}".`)
      const errors: FieldError[] = []
      const check = mergeHealthCheck(row.spec.healthCheck, body, errors, '')
      if (check === null || errors.length > 0)
        throw new ProblemError('validation_failed', errors[0]?.detail ?? 'A health check needs a path.', { errors })
      const front = model.find(row.id)?.resolved.front ?? null
      const address =
        front === null ? null : await engine.address({ project: row.id, workload: front.workload }, front.port)
      if (address === null)
        throw new ProblemError('not_running', 'The server of the project does not run, or listens nowhere.', {
          hint: 'Start the project, then try again.',
        })
      return { status: 200, body: await tryCheck(address, check, signal) }
    },
  }
}
