/** What went wrong, by what a person can do about it. Stable: kept in the store, shown by the API. */
export type AcmeFailureCode =
  | 'server_unreachable'
  | 'server_untrusted'
  | 'server_error'
  | 'rate_limited'
  | 'clock_off'
  | 'terms_not_agreed'
  | 'external_account_required'
  | 'account_refused'
  | 'name_refused'
  | 'challenge_failed'
  | 'challenge_unavailable'
  | 'dns_not_found'
  | 'dns_provider_failed'
  | 'dns_not_visible'
  | 'interrupted'

export interface AcmeFailure {
  readonly code: AcmeFailureCode
  /** What is true and what to do, in sentences. Never contains a secret. */
  readonly detail: string
  /** Which of the names failed; null when it was none of them. */
  readonly name: string | null
  /** Before this moment the server wants to hear nothing; null when it said none. */
  readonly notBefore: string | null
}

export class AcmeError extends Error {
  readonly code: AcmeFailureCode
  readonly host: string | null
  readonly notBefore: Date | null

  constructor(
    code: AcmeFailureCode,
    detail: string,
    more: { readonly name?: string | null; readonly notBefore?: Date | null; readonly cause?: unknown } = {},
  ) {
    super(detail, more.cause === undefined ? {} : { cause: more.cause })
    this.name = 'AcmeError'
    this.code = code
    this.host = more.name ?? null
    this.notBefore = more.notBefore ?? null
  }

  toFailure(): AcmeFailure {
    return {
      code: this.code,
      detail: this.message,
      name: this.host,
      notBefore: this.notBefore?.toISOString() ?? null,
    }
  }
}

/** Text of another side, for people: one line, nothing that steers a terminal, bounded. */
export function quoted(text: unknown, most = 500): string {
  const line = String(text)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, ' ')
    .trim()
  return line.length > most ? `${line.slice(0, most)}…` : line
}
