import type { ProviderEnvironment } from '../network/providers/provider.ts'
import { createShares, type Shares } from '../shares/shares.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'

/** Addresses for people outside. */
export interface Sharing {
  readonly shares: Shares
  /** Of the programs that bring people in from outside. */
  readonly environment: ProviderEnvironment
}

export function openSharing(
  {
    instance: { store, engine },
    resolving: { resolver },
    projects: { model, network, published },
  }: {
    readonly instance: Pick<Instance, 'store' | 'engine'>
    readonly resolving: Pick<Resolving, 'resolver'>
    readonly projects: Pick<KnownProjects, 'model' | 'network' | 'published'>
  },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): Sharing {
  const environment = {
    path: process.env.PATH ?? '',
    get allowed() {
      return config.shareProviders
    },
    get ssh() {
      return config.shareSsh
    },
  }
  const outside = { network, environment, published }
  return { shares: createShares({ store, engine, model, resolver, ...outside, config, now, onError }), environment }
}
