import { type CertificateSource, certificateFor, type KnownCertificate } from './choice.ts'
import type { NeededHost } from './local.ts'

const day = 24 * 3600_000
/** A certificate that nobody renews by itself is told so long before its end. */
export const ownWarningDays = 21
/** One that renews itself is told when it still has not this long before its end. */
export const renewedWarningDays = 10

export interface WatchedCertificate extends KnownCertificate {
  readonly lastFailure: { readonly at: string; readonly detail: string } | null
}

export interface CertificateTrouble {
  readonly id: string
  /** `missing`: there is none, and it could not be obtained. */
  readonly kind: 'expired' | 'expiring' | 'failing' | 'missing'
  readonly source: CertificateSource
  readonly names: readonly string[]
  readonly notAfter: string | null
  /** Hosts of the instance that have no other certificate that is valid until later. */
  readonly hosts: readonly string[]
  readonly reason: string | null
}

/** What needs somebody: certificates that hosts here depend on and that end, or do not renew. Whatever nothing depends on is left out. */
export function certificateTroubles(
  certificates: readonly WatchedCertificate[],
  needed: readonly NeededHost[],
  now: Date,
): readonly CertificateTrouble[] {
  return certificates.flatMap((certificate) => {
    const { id, source, names, notAfter, lastFailure } = certificate
    const hosts = needed
      .map(({ host }) => host)
      .filter((host) => certificateFor(host, certificates, now) === certificate)
    if (hosts.length === 0) return []
    const left = Date.parse(notAfter) - now.getTime()
    const soon = (source === 'own' ? ownWarningDays : renewedWarningDays) * day
    const kind = left <= 0 ? 'expired' : left <= soon ? 'expiring' : lastFailure === null ? null : 'failing'
    return kind === null ? [] : [{ id, kind, source, names, notAfter, hosts, reason: lastFailure?.detail ?? null }]
  })
}
