import { nameCovers, namesCover } from './names.ts'

/** Where a certificate comes from; the first is preferred. */
export const certificateSources = ['own', 'acme', 'local'] as const
export type CertificateSource = (typeof certificateSources)[number]

export interface KnownCertificate {
  readonly id: string
  readonly source: CertificateSource
  readonly names: readonly string[]
  readonly notBefore: string
  readonly notAfter: string
}

export function isValidAt({ notBefore, notAfter }: Pick<KnownCertificate, 'notBefore' | 'notAfter'>, now: Date) {
  return Date.parse(notBefore) <= now.getTime() && now.getTime() < Date.parse(notAfter)
}

/** The certificate that serves a host: one that is valid over one that is not, then by source, an exact name over a wildcard, the one that lasts longest. */
export function certificateFor<C extends KnownCertificate>(
  host: string,
  certificates: readonly C[],
  now: Date,
): C | null {
  const covering = certificates.filter(({ names }) => namesCover(names, host))
  return covering.sort((a, b) => compare(a, b, host, now))[0] ?? null
}

/**
 * Each certificate with the names that it is to serve. Whoever knows only "an exact name over a wildcard, else the first" chooses from this
 * as `certificateFor` does.
 */
export function servedNames<C extends KnownCertificate>(
  certificates: readonly C[],
  now: Date,
): readonly { readonly certificate: C; readonly names: readonly string[] }[] {
  const ordered = certificates.toSorted((a, b) => compare(a, b, null, now))
  return ordered
    .map((certificate) => ({
      certificate,
      names: certificate.names.filter((name) => {
        // An exact name would win over the wildcard of a certificate that is better.
        const better = certificateFor(name, ordered, now)
        return better === certificate || (better !== null && sameRank(better, certificate, now))
      }),
    }))
    .filter(({ names }) => names.length > 0)
}

function rankOf(certificate: KnownCertificate, now: Date): number {
  return (isValidAt(certificate, now) ? 0 : certificateSources.length) + certificateSources.indexOf(certificate.source)
}

function sameRank(a: KnownCertificate, b: KnownCertificate, now: Date): boolean {
  return rankOf(a, now) === rankOf(b, now)
}

function compare(a: KnownCertificate, b: KnownCertificate, host: string | null, now: Date): number {
  const exact = ({ names }: KnownCertificate) => (host !== null && names.includes(host) ? 0 : 1)
  return (
    rankOf(a, now) - rankOf(b, now) ||
    exact(a) - exact(b) ||
    Date.parse(b.notAfter) - Date.parse(a.notAfter) ||
    a.id.localeCompare(b.id)
  )
}

/** Names of the instance that a certificate stands for. */
export function hostsOf(names: readonly string[], hosts: readonly string[]): readonly string[] {
  return hosts.filter((host) => names.some((name) => nameCovers(name, host)))
}
