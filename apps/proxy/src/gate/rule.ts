import type { IncomingHttpHeaders } from 'node:http'
import type { Notice } from '../notices.ts'

export type Ruled = GateAnswer | null | Promise<GateAnswer | null>

/** One thing that may stand in front. Null: it lets pass. */
export interface Rule {
  check(visit: Visit): Ruled
}

/** One request in front of a project, as far as the gate looks at it. */
export interface Visit {
  /** Null: nobody knows, so no list lets it in. */
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
  readonly now: number
}

export interface GateAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Shown as a page or a problem; null: the answer has no body. */
  readonly notice: Notice | null
}

export function noticeAnswer(notice: Notice, headers: GateAnswer['headers'] = []): GateAnswer {
  return { status: notice.status, headers, notice }
}
