import type { IncomingMessage } from 'node:http'
import { type Operation, ProblemError } from '@stackquay/contract'
import { mayEnter, onProject, refusalOf } from '@stackquay/domain/access'
import { type Authenticator, anonymous } from './authenticator.ts'
import type { ClientReader } from './client.ts'
import type { Principal } from './handler.ts'
import type { OriginRules } from './origin.ts'
import { refusalProblem } from './refusal-problem.ts'
import { requestTarget, ticketOf } from './ticket-address.ts'

/** Who came, and why they may not enter: null when they may. */
export interface Admission {
  readonly principal: Principal
  readonly refusal: ProblemError | null
}

export interface AdmissionDeps {
  readonly authenticator: Authenticator
  readonly origins: OriginRules
  readonly client: ClientReader
  readonly resolveProject: (idOrSlug: string) => Promise<{ readonly id: string } | null>
}

export interface AdmissionRequest {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  readonly message: IncomingMessage
  /**
   * Who an open stream began for, when it is only looked at again: a ticket is gone by then, and waiting must not keep an
   * idle session alive.
   */
  readonly again?: Principal
}

/**
 * Authenticates and authorizes before anything of the body is read. In the same turn for tokens that are in
 * memory and have no restriction, which are most requests; a promise where something has to be looked up.
 */
export function createAdmission({ authenticator, origins, client, resolveProject }: AdmissionDeps) {
  return function admit(request: AdmissionRequest): Admission | Promise<Admission> {
    const { operation } = request
    try {
      if (operation.access.kind === 'public' || request.message.headers.authorization === undefined) guard(request)
      if (operation.access.kind === 'public')
        return operation.access.known === true ? recognize(request) : { principal: anonymous, refusal: null }
      const known = identify(request)
      if (!(known instanceof Promise)) return authorize(request, known)
      return known.then((session) => authorize(request, session)).catch(refusedBy)
    } catch (error) {
      return refusedBy(error)
    }
  }

  function identify({ operation, message, again }: AdmissionRequest): Principal | Promise<Principal> {
    const { headers } = message
    if (again?.kind === 'session') return authenticator.sessionAgain(again.sessionId)
    const use = again === undefined
    if (headers.authorization !== undefined) return authenticator.authenticate(headers, { use })
    const secure = client.isSecure(message)
    const ticket = ticketOf(message)
    if (ticket === undefined) return authenticator.authenticate(headers, { use, secure })
    if (operation.ticket === undefined) throw new ProblemError('ticket_invalid', 'No ticket opens this address.')
    // A page of another site on this host could have found one; whoever made it opens it from our own page.
    origins.checkOrigin(headers)
    return authenticator.authenticateTicket(headers, {
      ticket,
      target: requestTarget(message),
      resumes: operation.ticket === 'download' && isResumption(message),
      secure,
    })
  }

  /** Anybody may ask for the health, under whatever name a load balancer uses. */
  function guard({ operation, message: { headers, method } }: AdmissionRequest): void {
    if (operation.id !== 'getHealth') origins.checkHost(headers)
    if (method !== 'GET' && method !== 'HEAD') origins.checkOrigin(headers)
  }

  /** Never refuses: what is wrong with the credentials makes the caller a stranger. */
  function recognize(request: AdmissionRequest): Admission | Promise<Admission> {
    const { headers } = request.message
    const stranger: Admission = { principal: anonymous, refusal: null }
    if (headers.authorization === undefined && headers.cookie === undefined) return stranger
    const look = async (): Promise<Admission> => {
      origins.checkHost(headers)
      return { principal: await identify(request), refusal: null }
    }
    return look().catch(() => stranger)
  }

  function authorize(request: AdmissionRequest, principal: Principal): Admission | Promise<Admission> {
    const { operation, params } = request
    const { access } = operation
    const ref = access.kind === 'scope' && access.project ? params.id : undefined
    const isSameOnAll = principal.kind === 'anonymous' || principal.rights === undefined
    if (ref === undefined || (isSameOnAll && mayEnter(principal, ref))) return decide(operation, principal, ref)
    return resolveProject(ref).then((project) => decide(operation, principal, ref, project?.id ?? null))
  }
}

function decide(
  operation: Operation,
  principal: Principal,
  ref?: string,
  project: string | null = ref ?? null,
): Admission {
  const refusal = refusalOf(principal, operation.access, project)
  const here = ref === undefined ? principal : onProject(principal, project)
  return { principal: here, refusal: refusal === null ? null : refusalProblem(refusal, here, ref) }
}

/** Without `If-Range` a browser would put parts of two files together, so that is no going on. */
function isResumption({ headers, method }: IncomingMessage): boolean {
  return method === 'GET' && headers.range !== undefined && headers['if-range'] !== undefined
}

function refusedBy(error: unknown): Admission {
  if (error instanceof ProblemError) return { principal: anonymous, refusal: error }
  throw error
}
