import { isDeepStrictEqual } from 'node:util'
import { ProblemError, type ProjectPatch } from '@stackquay/contract'
import type { ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { AddonsKeeper } from './keeper.ts'

type Credentials = Pick<Handlers, 'getServiceCredentials' | 'rotateServiceCredentials'>

/** Addons of a project. They are services, so their credentials are answered by what answers those of services. */
export function projectAddonHandlers(
  { addons }: { readonly addons: AddonsKeeper },
  { find, holds, change }: ProjectAnswers,
  services: Credentials,
): Pick<
  Handlers,
  'listProjectAddons' | 'setProjectAddon' | 'disableProjectAddon' | 'getAddonCredentials' | 'rotateAddonCredentials'
> {
  return {
    listProjectAddons: async ({ params }) => {
      const { spec } = await find(params.id)
      const items = Object.entries(spec.addons ?? {}).flatMap(([name, held]) => {
        const settings = spec.services[name]
        const now = Object.hasOwn(addons.now(), name) ? addons.now()[name] : undefined
        if (settings === undefined) return []
        const { enabled, version, exposePort } = settings
        const outdated = now !== undefined && !isDeepStrictEqual(held, now)
        return [{ name, title: held.title, enabled, version, exposePort, outdated, known: now !== undefined }]
      })
      return { status: 200, body: { items } }
    },

    setProjectAddon: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      holds(row, context)
      return change(row, { addons: { [params.name]: { enabled: true, ...body } } }, context, 'addon.update', query)
    },

    disableProjectAddon: async ({ params, query }, context) => {
      const row = await find(params.id)
      holds(row, context)
      if (!Object.hasOwn(row.spec.addons ?? {}, params.name))
        throw new ProblemError('not_found', `The project has no addon "${params.name}".`)
      return change(row, { addons: { [params.name]: { enabled: false } } }, context, 'addon.update', query)
    },

    getAddonCredentials: (input, context) =>
      services.getServiceCredentials({ ...input, params: serviceOf(input.params) } as never, context),
    rotateAddonCredentials: (input, context) =>
      services.rotateServiceCredentials({ ...input, params: serviceOf(input.params) } as never, context),
  }
}

function serviceOf({ id, name }: { readonly id: string; readonly name: string }) {
  return { id, service: name }
}

/** Before a start: the definitions that changed since the project took them are taken now. Answers the project as it is then. */
export async function takeNewDefinitions(
  row: ProjectRow,
  context: RequestContext,
  addons: ReturnType<AddonsKeeper['now']>,
  { find, change }: Pick<ProjectAnswers, 'find' | 'change'>,
): Promise<ProjectRow> {
  const outdated = Object.entries(row.spec.addons ?? {}).filter(
    ([name, held]) =>
      row.spec.services[name]?.enabled === true &&
      Object.hasOwn(addons, name) &&
      !isDeepStrictEqual(held, addons[name]),
  )
  if (outdated.length === 0) return row
  const patch: ProjectPatch = { addons: Object.fromEntries(outdated.map(([name]) => [name, {}])) }
  await change(row, patch, context, 'addon.update', {})
  return find(row.id)
}
