import { ProblemError, type TlsCertificatePut } from '@stackquay/contract'
import type { CertificateRow, Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import { checkOwn, type OwnCertificate } from './check-own.ts'
import type { CertificateKeeper } from './keeper.ts'
import type { ServingRow } from './known.ts'
import { certificateEvent } from './local-certificates.ts'
import { UnusableCertificate } from './read-certificate.ts'
import { certificateView, tlsView, type ViewDeps } from './view.ts'

export interface CertificateHandlersDeps extends ViewDeps {
  readonly store: Store
  readonly keeper: CertificateKeeper
}

/** Keys come in and never go out. */
export function certificateHandlers(
  deps: CertificateHandlersDeps,
): Pick<Handlers, 'getTls' | 'getTlsAuthority' | 'putTlsCertificate' | 'deleteTlsCertificate'> {
  const { store, known, keeper, config, now } = deps
  return {
    getTls: async () => ({ status: 200, body: await tlsView(deps) }),

    getTlsAuthority: async () => {
      const authority = known.authority()
      if (authority === null)
        throw new ProblemError('not_found', 'This instance has no authority of its own yet.', {
          hint: 'An administrator switches it on: stq trust, or Settings → Certificates.',
        })
      const headers = {
        'content-type': 'application/x-pem-file',
        'content-disposition': 'attachment; filename="stackquay-ca.crt"',
      }
      return { status: 200, stream: textStream(authority.certificate), headers }
    },

    putTlsCertificate: async ({ body }, context) => {
      const { key, ...shown } = checked(body, now())
      const row = { ...shown, source: 'own', subject: shown.names.join(' '), nextRenewal: null } as const
      const id = await store.transaction(async (tx) => {
        const put = await tx.certificates.put(row, key)
        const changes = {
          before: put.replaced === null ? null : { id: put.replaced },
          after: audited({ ...row, ...put }),
        }
        const target = shown.names.join(' ').slice(0, 200)
        await tx.audit.append(context.audit({ action: 'certificate.put', target, changes }))
        await tx.events.append(certificateEvent())
        return put.id
      })
      await keeper.renew()
      const made = await store.certificates.find(id)
      // Another change may have replaced it already.
      if (made === null) throw new ProblemError('not_found', `There is no certificate "${id}" any more.`)
      const hosts = keeper.needed().map(({ host }) => host)
      return { status: 200, body: certificateView(made as ServingRow, hosts, deps) }
    },

    deleteTlsCertificate: async ({ params }, context) => {
      await store.transaction(async (tx) => {
        const row = await store.certificates.find(params.certificate)
        if (row === null) throw new ProblemError('not_found', `There is no certificate "${params.certificate}".`)
        if (row.source === 'local' && config.tls.local)
          throw new ProblemError('conflict', 'The local authority would make it again.', {
            hint: 'Set tlsLocal to "off", or delete the authority to have another one.',
          })
        await tx.certificates.delete(row.id)
        const target = row.names.join(' ').slice(0, 200)
        await tx.audit.append(
          context.audit({ action: 'certificate.delete', target, changes: { before: audited(row) } }),
        )
        await tx.events.append(certificateEvent())
      })
      await keeper.renew()
      return { status: 204 }
    },
  }
}

function checked(body: TlsCertificatePut, now: Date): OwnCertificate {
  try {
    return checkOwn(body, now)
  } catch (error) {
    if (!(error instanceof UnusableCertificate)) throw error
    const { field, code, detail } = error.fault
    throw new ProblemError('validation_failed', `Nothing was changed. ${detail}`, {
      errors: [{ pointer: `/${field}`, code, detail }],
    })
  }
}

function audited({ id, source, names, notAfter }: Pick<CertificateRow, 'id' | 'source' | 'names' | 'notAfter'>) {
  return { id, source, names, notAfter }
}

async function* textStream(text: string): AsyncGenerator<string> {
  yield text
}
