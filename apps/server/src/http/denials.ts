import type { IncomingMessage } from 'node:http'
import type { Operation, ProblemError } from '@stackquay/contract'
import { visibleText } from '@stackquay/contract'
import type { ClientReader } from './client.ts'
import type { DeniedLog } from './denied-log.ts'
import type { Principal } from './handler.ts'
import { createRequestContext } from './request-context.ts'

/** What is known of a request when it is refused: a Fastify request is one, an upgrade to a WebSocket makes one. */
export interface RefusedRequest {
  readonly id: string
  readonly principal: Principal
  readonly params: unknown
  readonly raw: IncomingMessage
}

/** Puts the refusal of a change into the audit log before it is answered; anything else is done at once. */
export type RecordDenial = (
  operation: Operation,
  request: RefusedRequest,
  refusal: unknown,
) => Promise<void> | undefined

export function createRecordDenial(
  denied: DeniedLog,
  client: ClientReader,
  findProject: (ref: string) => Promise<{ readonly id: string } | null>,
): RecordDenial {
  return ({ audit: action, access }, request, refusal) => {
    if (action === undefined || !isDenial(refusal) || !isWorthAnEntry(request, refusal)) return undefined
    const { principal, id: requestId, raw: message } = request
    // The code of a link is as good as a password.
    const { token: _code, ...told } = request.params as Readonly<Record<string, string>>
    const params = Object.values(told)
    const context = createRequestContext({ principal, requestId, message, client, gone: never })
    // What stands first in the path: the project, the operation, the user.
    const target = params[0]?.slice(0, 60) ?? null
    const shown = target === null ? null : visibleText(target)
    const record = (project: string | null) =>
      denied.record(
        context.audit({ action, target: shown, project, outcome: 'denied', changes: { reason: refusal.code } }),
      )
    if (target === null || access.kind !== 'scope' || !access.project) return record(null)
    // The refusal stands, and is recorded, whether or not its project can be looked up.
    return findProject(target).then(
      (project) => record(project?.id ?? null),
      () => record(null),
    )
  }
}

const never = new AbortController().signal

/** What strangers knock on must not fill the audit log; that somebody goes on trying passwords must stand in it. */
function isWorthAnEntry(
  {
    raw: {
      headers: { authorization, cookie },
    },
  }: RefusedRequest,
  { code }: ProblemError,
): boolean {
  return authorization !== undefined || cookie !== undefined || code === 'throttled'
}

function isDenial(refusal: unknown): refusal is ProblemError {
  return refusal instanceof Error && 'code' in refusal && codes.has(String(refusal.code))
}

/** Handlers record refused passwords and codes themselves, with the name that was tried. */
const codes: ReadonlySet<string> = new Set([
  'unauthorized',
  'ticket_invalid',
  'scope_insufficient',
  'role_insufficient',
  'project_forbidden',
  'token_restricted',
  'person_limited',
  'session_required',
  'csrf_failed',
  'last_admin',
  'path_forbidden',
  'secret_key_external',
  'setting_external',
  'throttled',
])
