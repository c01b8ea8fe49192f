import type { Secret } from '@stackquay/contract'

/** What was tried for one certificate of an ACME authority. */
export interface AcmeAttemptsRow {
  /** The name that the certificate is for. */
  readonly subject: string
  readonly attempts: Readonly<Record<string, unknown>>
  /** Between 0 and 1, drawn once for each certificate: when in its span it is renewed. */
  readonly chance: number
  /** What the authority said of the renewal of the certificate of this id, and when it may be asked again. */
  readonly renewal: {
    readonly certificate: string
    readonly replaces: string | null
    readonly start: string | null
    readonly end: string | null
    readonly askAgainAt: string
  } | null
}

export interface AcmeReader {
  all(): Promise<readonly AcmeAttemptsRow[]>
  find(subject: string): Promise<AcmeAttemptsRow | null>
  /** The order that is under way, as it was put. Null without one. Throws `SecretError` when it cannot be read. */
  order(subject: string): Promise<Secret | null>
}

export interface AcmeWriter {
  put(row: AcmeAttemptsRow): Promise<void>
  /** Null: there is none any more. */
  putOrder(subject: string, order: string | null): Promise<void>
  /** With its order. */
  delete(subject: string): Promise<void>
}
