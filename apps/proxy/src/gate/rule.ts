import type { IncomingHttpHeaders } from 'node:http'
import type { Redeem } from '../codes.ts'
import type { ErrorResponse } from '../error-responses.ts'

export type Ruled = GateAnswer | null | Promise<GateAnswer | null>

/** One rule in front of a project. Null: it lets the request pass. */
export interface Rule {
  check(visit: Visit): Ruled
}

/** One request in front of a project, as far as the gate looks at it. */
export interface Visit {
  /** Null: unknown, so no list lets it in. */
  readonly client: string | null
  readonly host: string
  /** Origin form with its query. */
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** `http` or `https`, as the client used it. */
  readonly proto: 'http' | 'https'
  /** Reads the body of a form, at most a few KB; null when there is none or it is none. */
  form(): Promise<URLSearchParams | null>
  readonly isUpgrade: boolean
  /** Changes a code for a cookie, once, by the hash of the code and the host that it is for. */
  readonly redeem: Redeem
  readonly now: number
}

export interface GateAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Shown as a page or a problem; null: the answer has no body. */
  readonly error: ErrorResponse | null
}

export function errorAnswer(error: ErrorResponse, headers: GateAnswer['headers'] = []): GateAnswer {
  return { status: error.status, headers, error }
}
