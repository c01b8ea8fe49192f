import { certificateFor, isLocalName, isValidAt, type KnownCertificate, localDomains } from '@stackquay/domain'
import type { CertificateRow, Store } from '@stackquay/store'
import type { Config } from '../config.ts'

/** One that can serve hosts. */
export type ServingRow = CertificateRow & KnownCertificate

/** What the certificate of the local authority for the page of Stackquay itself is for. */
export const pageSubject = 'page'

/** The certificates of the instance, as they are stored: read at the start, and again after each change. */
export interface KnownCertificates {
  readonly serving: () => readonly ServingRow[]
  /** Of the local authority, for the page of Stackquay itself; no project is served with it. */
  page(): CertificateRow | null
  /** The local authority; null while there is none, or it has ended. */
  authority(): CertificateRow | null
  /** The one that a host is shown; it may have ended. */
  of(host: string): ServingRow | null
  /** Whether people open the host with https: the scheme of its address. */
  isSecure(host: string): boolean
  /** Domains that a new local authority would speak for. */
  domains(): readonly string[]
  load(): Promise<void>
}

export function createKnownCertificates({
  store,
  config,
  now,
}: {
  readonly store: Pick<Store, 'certificates'>
  readonly config: Pick<Config, 'proxyHttps' | 'tls' | 'baseDomain'>
  readonly now: () => Date
}): KnownCertificates {
  let rows: readonly CertificateRow[] = []
  let serving: readonly ServingRow[] = []
  const authority = () =>
    rows.find((row) => row.source === 'authority' && Date.parse(row.notAfter) > now().getTime()) ?? null
  const of = (host: string) => certificateFor(host, serving, now())
  return {
    serving: () => serving,
    authority,
    page: () => rows.find(isOfPage) ?? null,
    of,
    isSecure: (host) => {
      if (config.proxyHttps === null) return false
      const found = of(host)
      if (found !== null && isValidAt(found, now())) return true
      // The one of a project that was made just now is on its way.
      const local = config.tls.local ? authority() : null
      return local !== null && isLocalName(host, local.names)
    },
    domains: () => localDomains(config.baseDomain),
    load: async () => {
      rows = await store.certificates.all()
      serving = rows.filter((row): row is ServingRow => row.source !== 'authority' && !isOfPage(row))
    },
  }
}

const isOfPage = ({ source, subject }: CertificateRow) => source === 'local' && subject === pageSubject
