import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GateAnswer } from './gate/rule.ts'
import type { RequestContext } from './request-context.ts'

/** What certificates, and those who validate names, mean for requests by HTTP/1.1. */
export interface TlsRules {
  /** Before it is known where a request leads. True: it is answered. */
  answersFirst(request: IncomingMessage, response: ServerResponse): boolean
  /** What stands in for the project because of TLS; null: nothing. */
  insteadOf(request: IncomingMessage, context: RequestContext): GateAnswer | null
}
