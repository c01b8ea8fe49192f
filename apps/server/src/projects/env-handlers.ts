import { ProblemError } from '@stackquay/contract'
import type { EnvVariable } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from './answers.ts'
import type { ChangeDeps } from './change-project.ts'
import { envView, receiversOf } from './view.ts'

type EnvHandlers = Pick<Handlers, 'getProjectEnv' | 'getProjectEnvValue' | 'putProjectEnv' | 'deleteProjectEnv'>

/** The variables of a project. No list and no answer to a change has the text of a secret; it is revealed one by one. */
export function envHandlers(
  { store, model }: Pick<ChangeDeps, 'store' | 'model'>,
  { find, holds, change }: ProjectAnswers,
): EnvHandlers {
  return {
    async getProjectEnv({ params }) {
      const row = await find(params.id)
      const { resolved } = model.find(row.id) ?? (await model.renew(row.id))
      return { status: 200, body: { env: envView(row.spec), injected: [...resolved.injected] } }
    },

    async getProjectEnvValue({ params, query }, context) {
      const row = await find(params.id)
      const { name } = params
      const variable = variableOf(row, name)
      const runtimes = receiversOf(variable)
      if (!variable.secret) return { status: 200, body: { name, value: variable.value, secret: false, runtimes } }
      if (query.reveal !== true) return { status: 200, body: { name, value: null, secret: true, runtimes } }
      const text = await store.secrets.reveal(variable.ref.secret)
      const target = `${row.slug}/${name}`
      await store.transaction((tx) =>
        tx.audit.append(context.audit({ action: 'project.env.read', target, project: row.id })),
      )
      return { status: 200, body: { name, value: text.expose(), secret: true, runtimes } }
    },

    async putProjectEnv({ params, query, body }, context) {
      const row = await find(params.id)
      holds(row, context)
      return change(row, { env: { [params.name]: body } }, context, 'project.env.set', query)
    },

    async deleteProjectEnv({ params, query }, context) {
      const row = await find(params.id)
      holds(row, context)
      variableOf(row, params.name)
      return change(row, { env: { [params.name]: null } }, context, 'project.env.delete', query)
    },
  }
}

function variableOf(row: ProjectRow, name: string): EnvVariable {
  if (Object.hasOwn(row.spec.env, name)) return row.spec.env[name]!
  throw new ProblemError('not_found', `There is no variable "${name}".`)
}
