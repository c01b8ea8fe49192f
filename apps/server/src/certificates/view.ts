import { X509Certificate } from 'node:crypto'
import { type Tls, type TlsCertificate, visibleText } from '@stackquay/contract'
import { hostsOf, isValidAt, ownWarningDays } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import { addressText } from '../ports/held-addresses.ts'
import { chainWarning } from './check-own.ts'
import type { CertificateKeeper } from './keeper.ts'
import type { KnownCertificates, ServingRow } from './known.ts'
import { nameOf } from './read-certificate.ts'

export interface ViewDeps {
  readonly store: Pick<Store, 'projects'>
  readonly known: KnownCertificates
  readonly keeper: Pick<CertificateKeeper, 'needed' | 'fault' | 'unreadable'>
  readonly config: Config
  readonly now: () => Date
}

export async function tlsView(deps: ViewDeps): Promise<Tls> {
  const { store, known, keeper, config, now } = deps
  const slugs = new Map((await store.projects.all()).map(({ id, slug }) => [id, slug]))
  const needed = keeper.needed()
  const authority = known.authority()
  const { proxyHttps } = config
  const certificates = known.serving().map((row) =>
    certificateView(
      row,
      needed.map(({ host }) => host),
      deps,
    ),
  )
  const hosts = needed.map(({ host, project }) => ({
    host,
    project: project === null ? null : (slugs.get(project) ?? null),
    certificate: servedBy(known.of(host), now()),
    https: known.isSecure(host),
  }))
  return {
    listen: proxyHttps === null ? null : addressText(proxyHttps),
    authority:
      authority === null
        ? null
        : {
            id: authority.id,
            names: [...authority.names],
            fingerprint: new X509Certificate(authority.certificate).fingerprint256,
            notAfter: authority.notAfter,
          },
    certificates: certificates.sort((a, b) => a.names.join().localeCompare(b.names.join())),
    hosts: hosts.sort((a, b) => a.host.localeCompare(b.host)),
    fault: keeper.fault(),
  }
}

/** One that has ended still is the one that is shown. */
function servedBy(row: ServingRow | null, now: Date): string | null {
  return row === null || Date.parse(row.notBefore) > now.getTime() ? null : row.id
}

export function certificateView(
  row: ServingRow,
  hosts: readonly string[],
  { keeper, now }: Pick<ViewDeps, 'keeper' | 'now'>,
): TlsCertificate {
  const read = new X509Certificate(row.certificate)
  return {
    id: row.id,
    source: row.source,
    names: [...row.names],
    issuer: visibleText(nameOf(read.issuer)),
    notBefore: row.notBefore,
    notAfter: row.notAfter,
    fingerprint: read.fingerprint256,
    nextRenewal: row.nextRenewal,
    lastFailure: row.lastFailure,
    warnings: warningsOf(row, hosts, keeper, now()),
  }
}

function warningsOf(
  row: ServingRow,
  hosts: readonly string[],
  keeper: Pick<CertificateKeeper, 'unreadable'>,
  now: Date,
): string[] {
  const warnings = []
  if (keeper.unreadable().has(row.id)) warnings.push('Its key cannot be read with this secret key. Add it again.')
  const days = Math.floor((Date.parse(row.notAfter) - now.getTime()) / (24 * 3600_000))
  if (days < 0) warnings.push('It has ended. Add its successor.')
  else if (!isValidAt(row, now)) warnings.push('It is not valid yet, and is used from then on.')
  if (row.source !== 'own') return warnings
  if (days >= 0 && days < ownWarningDays) warnings.push(`It ends in ${days === 1 ? '1 day' : `${days} days`}.`)
  if (hostsOf(row.names, hosts).length === 0) warnings.push('No host of this instance has one of its names.')
  const chain = chainWarning(row.certificate)
  return chain === null ? warnings : [...warnings, visibleText(chain)]
}
