import { type AcmeKeeper, openAcmeKeeper } from '../certificates/acme/keeper.ts'
import { type CertificateKeeper, openCertificateKeeper } from '../certificates/keeper.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Resumption } from './resumption.ts'

export interface Certificates extends CertificateKeeper {
  /** Who gets them from an authority on the internet. */
  readonly acme: AcmeKeeper
}

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
): Certificates {
  const certificates = openCertificateKeeper({
    ...{ store, known, config, network, resolver, ready, now, onError },
    projects: model,
    proxy: keeper,
    readdressed: async (projects) => {
      for (const id of projects)
        await model.renew(id, 'remembered').catch((error: unknown) => onError(error, `addresses of ${id}`))
      await publishedTable()
    },
  })
  const acme = openAcmeKeeper({ store, certificates, config, ready, now, onError })
  return {
    ...certificates,
    acme,
    troubles: () => [...certificates.troubles(), ...acme.troubles()],
    close: async () => {
      // It still tells the proxy.
      await acme.close()
      await certificates.close()
    },
  }
}
