import { ProblemError } from '@stackquay/contract'
import type { Principal, RequestContext } from '../http/handler.ts'

/** The browser session that calls. The policy let nobody else in; the type does not know. */
export function sessionOf({ principal }: RequestContext): Principal & { kind: 'session' } {
  if (principal.kind === 'session') return principal
  throw new ProblemError('session_required', 'This needs a browser session.')
}
