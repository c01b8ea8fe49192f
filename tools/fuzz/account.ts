/** What the service for a fuzzer says of itself when it is there. */
export interface Account {
  readonly url: string
  /** The one project that `restricted` may use. */
  readonly project: string
  /** Headers of an administrator's browser session. */
  readonly session: Readonly<Record<string, string>>
  /** Tokens of scope admin. */
  readonly admin: string
  readonly restricted: string
}

export interface Counts {
  readonly requests: number
  /** Answers below 300: a fuzzer that is refused everything tries little. */
  readonly succeeded: number
  /** Answers of 5xx, as many as are worth reading. */
  readonly failures: readonly string[]
}
