import type { Secret } from '@stackquay/contract'

/** `authority` is the local one itself, which signs those that are `local`. */
export type CertificateOrigin = 'own' | 'acme' | 'local' | 'authority'

/** A certificate of the instance, without its key. */
export interface CertificateRow {
  readonly id: string
  readonly source: CertificateOrigin
  /** What it is for: of each source there is one. */
  readonly subject: string
  readonly names: readonly string[]
  /** PEM: the certificate, then its chain. */
  readonly certificate: string
  readonly notBefore: string
  readonly notAfter: string
  /** When it renews itself; null when somebody else has to. */
  readonly nextRenewal: string | null
  /** Of the last try to renew it. */
  readonly lastFailure: { readonly at: string; readonly detail: string } | null
  readonly createdAt: string
}

export interface CertificateReader {
  all(): Promise<readonly CertificateRow[]>
  find(id: string): Promise<CertificateRow | null>
  /** Throws `SecretError` when it cannot be read. */
  key(id: string): Promise<Secret>
}

export interface CertificateWriter {
  /** With its key, PEM. Takes the place of the one of the same source for the same subject, whose key goes. */
  put(
    certificate: Omit<CertificateRow, 'id' | 'createdAt' | 'lastFailure'>,
    key: string,
  ): Promise<{ readonly id: string; readonly replaced: string | null }>
  /** Of a try to renew it; null when it went well again. */
  fail(id: string, failure: CertificateRow['lastFailure'], nextRenewal?: string): Promise<void>
  /** With its key. */
  delete(id: string): Promise<void>
}
