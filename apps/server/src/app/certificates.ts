import { type CertificateKeeper, openCertificateKeeper } from '../certificates/keeper.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'

/** Who looks after certificates. */
export function openCertificates(
  {
    instance: { store, certificates: known },
    resolving: { resolver },
    projects: { model, network, keeper, publishedTable },
    resumption: { ready },
  }: {
    readonly instance: Pick<Instance, 'store' | 'certificates'>
    readonly resolving: Pick<Resolving, 'resolver'>
    readonly projects: Pick<KnownProjects, 'model' | 'network' | 'keeper' | 'publishedTable'>
    readonly resumption: Pick<Resumption, 'ready'>
  },
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): CertificateKeeper {
  return openCertificateKeeper({
    ...{ store, known, config, network, resolver, ready, now, onError },
    projects: model,
    proxy: keeper,
    readdressed: async (projects) => {
      for (const id of projects)
        await model.renew(id, 'remembered').catch((error: unknown) => onError(error, `addresses of ${id}`))
      await publishedTable()
    },
  })
}
