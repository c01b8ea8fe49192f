import type { OperationId } from '@stackquay/contract'

/** A request of the API, before it has a place in a URL. */
export interface ApiRequest {
  readonly operation: OperationId
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface ApiAnswer {
  readonly status: number
  /** Unquoted. */
  readonly etag: string | null
  /** Parsed, where the answer is JSON. */
  readonly json: unknown
  readonly text: string
  /** More came than was read, or it did not end in time. */
  readonly broken: 'size' | 'time' | null
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** After so long the request is given up, and what came so far is the answer. */
  readonly timeLimit?: number | undefined
}

/** Whoever uses the tools: everything goes through the API as them, with the rights that they have at that moment. */
export interface Caller {
  /** Plans belong to it. */
  readonly id: string
  /** A problem that comes back has no secrets in it any more; every other answer is masked by who shows it. */
  call(request: ApiRequest, options?: CallOptions): Promise<ApiAnswer>
  /** The problem that the API would refuse the request with before it looks at its content; null when it would not. Records the refusal. */
  refusalOf(
    request: ApiRequest,
  ): Promise<{ readonly code: string; readonly detail: string; readonly hint?: string } | null>
  /** The same value without the texts of secrets, those of the projects that it is about. */
  mask<Value>(value: Value, projects: readonly string[]): Promise<Value>
  /** Records a confirmation that was refused. */
  recordRefused(refusal: {
    readonly tool: string
    readonly project: string | null
    readonly reason: string
  }): Promise<void>
}
