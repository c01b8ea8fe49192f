import { ProblemError, ShareCreate } from '@stackquay/contract'
import type { ProxyControl } from '@stackquay/proxy/control'
import type { Store } from '@stackquay/store'
import { checkWorkload, refused } from '../addresses/domain-handlers.ts'
import type { Handlers } from '../http/handler.ts'
import { availabilityOf, findProvider, shareProviders } from '../network/providers/index.ts'
import type { ProviderEnvironment, ShareProvider } from '../network/providers/provider.ts'
import type { Known, Model } from '../projects/model.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { shareView } from './share-view.ts'
import type { Shares } from './shares.ts'

export interface ShareHandlerDeps {
  readonly store: Store
  readonly model: Model
  readonly shares: Shares
  readonly environment: ProviderEnvironment
  /** Keeps the log of who came. Null while no proxy was found or started. */
  proxy(): Pick<ProxyControl, 'viewers'> | null
}

/** A project shown to others for a while, at an address that nobody can guess. */
export function shareHandlers(deps: ShareHandlerDeps): Pick<Handlers, 'getShare' | 'createShare' | 'endShare'> {
  const { store, model, shares, environment } = deps

  const find = async (idOrSlug: string): Promise<Known> => {
    const row = await store.projects.find(idOrSlug)
    if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
    return model.find(row.id) ?? (await model.renew(row.id))
  }

  return {
    getShare: async ({ params }) => {
      const { row } = await find(params.id)
      const [share, providers] = await Promise.all([
        store.network.share(row.id),
        Promise.all(shareProviders.map((provider) => providerView(provider, environment))),
      ])
      if (share === null) return { status: 200, body: { share: null, providers } }
      const viewers = await addressesOf(deps.proxy(), row.id, share.id)
      return { status: 200, body: { share: shareView(share, viewers), providers } }
    },

    createShare: async ({ params, body }, context) => {
      const { minutes, password, provider: name = 'direct', workload = null } = body ?? ShareCreate.parse({})
      const { row, resolved } = await find(params.id)
      refuseUnready(row)
      const provider = findProvider(name)
      if (provider === null) {
        const names = shareProviders.map((one) => one.name).join(', ')
        throw refused('/provider', 'unknown_provider', `There is no provider "${name}". There is ${names}.`)
      }
      if (workload !== null) checkWorkload(workload, resolved)
      else if (resolved.front === null)
        throw refused(
          '/workload',
          'no_page',
          `The project "${row.slug}" has nothing with a page yet. Add a runtime first.`,
        )
      const found = await availabilityOf(provider, environment)
      if (!found.available)
        throw new ProblemError('unavailable_here', found.reason, found.install === null ? {} : { hint: found.install })
      const share = await shares.create(row, { minutes, password, provider, workload }, context)
      return { status: 201, body: shareView(share, 0) }
    },

    endShare: async ({ params }, context) => {
      const { row } = await find(params.id)
      await shares.end(row, context)
      return { status: 204 }
    },
  }
}

/** A proxy that does not answer is no reason to keep the share from people: then nobody is known to have come. */
async function addressesOf(
  proxy: Pick<ProxyControl, 'viewers'> | null,
  project: string,
  share: string,
): Promise<number> {
  const found = await proxy?.viewers(project, share).catch(() => null)
  return new Set(found?.items.map(({ address }) => address)).size
}

async function providerView(provider: ShareProvider, environment: ProviderEnvironment) {
  const { name, label, summary } = provider
  const found = await availabilityOf(provider, environment)
  if (found.available) return { name, label, summary, available: true, reason: null, install: null }
  return { name, label, summary, available: false, reason: found.reason, install: found.install }
}
