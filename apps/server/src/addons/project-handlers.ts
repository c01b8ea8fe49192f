import { isDeepStrictEqual } from 'node:util'
import { ProblemError } from '@stackquay/contract'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { Resolver } from '../projects/resolver.ts'
import { pageUrlOf } from '../projects/service-handlers.ts'
import type { AddonsKeeper } from './keeper.ts'

type Credentials = Pick<Handlers, 'getServiceCredentials' | 'rotateServiceCredentials'>

/** Addons of a project. They are services, so their credentials are answered by what answers those of services. */
export function projectAddonHandlers(
  { addons, resolver }: { readonly addons: AddonsKeeper; readonly resolver: Resolver },
  { find, holds, change }: ProjectAnswers,
  services: Credentials,
): Pick<
  Handlers,
  'listProjectAddons' | 'setProjectAddon' | 'disableProjectAddon' | 'getAddonCredentials' | 'rotateAddonCredentials'
> {
  return {
    listProjectAddons: async ({ params }) => {
      const row = await find(params.id)
      const { spec } = row
      const items = Object.entries(spec.addons ?? {}).flatMap(([name, held]) => {
        const settings = spec.services[name]
        const now = Object.hasOwn(addons.now(), name) ? addons.now()[name] : undefined
        if (settings === undefined) return []
        const { enabled, version, exposePort } = settings
        const outdated = now !== undefined && !isDeepStrictEqual(held, now)
        const facts = { name, title: held.title, enabled, version, exposePort, outdated, known: now !== undefined }
        return [{ ...facts, pageUrl: pageUrlOf(row, name, resolver) }]
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
