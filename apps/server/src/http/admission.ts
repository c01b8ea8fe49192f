import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Operation, ProblemError } from '@stackquay/contract'
import { mayEnter, refusalOf } from '@stackquay/domain/access'
import { type Authenticator, anonymous } from '../access/authenticator.ts'
import type { Principal } from './handler.ts'
import type { OriginRules } from './origin.ts'
import { refusalProblem } from './refusal-problem.ts'

/** Who came, and why they may not enter: null when they may. */
export interface Admission {
  readonly principal: Principal
  readonly refusal: ProblemError | null
}

export interface AdmissionDeps {
  readonly authenticator: Authenticator
  readonly origins: OriginRules
  readonly resolveProject: (idOrSlug: string) => Promise<{ readonly id: string } | null>
}

export interface Arrival {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  readonly message: IncomingMessage
  /** False when an open stream is only looked at again. */
  readonly use?: boolean
}

/**
 * Authenticates and authorizes before anything of the body is read. Synchronous for tokens without a restriction, which
 * are most requests; a promise where a session or a project has to be looked up.
 */
export function createAdmission({ authenticator, origins, resolveProject }: AdmissionDeps) {
  return function admit(arrival: Arrival): Admission | Promise<Admission> {
    const { operation, message, use = true } = arrival
    const { headers } = message
    let principal: Principal = anonymous
    try {
      if (headers.authorization === undefined || operation.access.kind === 'public') guard(arrival)
      if (operation.access.kind === 'public') return { principal, refusal: null }
      const known = authenticator.authenticate(headers, { use })
      if (!(known instanceof Promise)) return authorize(arrival, known)
      return known
        .then((session) => {
          principal = session
          checkCsrf(arrival, session)
          return authorize(arrival, session)
        })
        .catch((error: unknown) => refusedBy(error, principal))
    } catch (error) {
      return refusedBy(error, principal)
    }
  }

  /** Anybody may ask for the health, under whatever name a load balancer uses. */
  function guard({ operation, message: { headers, method } }: Arrival): void {
    if (operation.id !== 'getHealth') origins.checkHost(headers)
    if (method !== 'GET' && method !== 'HEAD') origins.checkOrigin(headers)
  }

  function authorize(arrival: Arrival, principal: Principal): Admission | Promise<Admission> {
    const { operation, params } = arrival
    const { access } = operation
    const ref = access.kind === 'scope' && access.project ? params.id : undefined
    if (ref === undefined || mayEnter(principal, ref)) return verdict(operation, principal, ref)
    return resolveProject(ref).then((project) => verdict(operation, principal, ref, project?.id ?? null))
  }
}

function verdict(
  operation: Operation,
  principal: Principal,
  ref?: string,
  project: string | null = ref ?? null,
): Admission {
  const refusal = refusalOf(principal, operation.access, project)
  return { principal, refusal: refusal === null ? null : refusalProblem(refusal, principal, ref) }
}

/** A changing request with a cookie must prove that our own page made it. */
function checkCsrf({ message: { method, headers } }: Arrival, principal: Principal): void {
  if (principal.kind !== 'session' || method === 'GET' || method === 'HEAD') return
  const sent = headers['x-csrf-token']
  const given = Buffer.from(typeof sent === 'string' ? sent : '')
  const wanted = Buffer.from(principal.csrfToken)
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return
  throw new ProblemError(
    'csrf_failed',
    sent === undefined
      ? 'The header X-CSRF-Token is missing.'
      : 'The header X-CSRF-Token does not belong to this session.',
  )
}

function refusedBy(error: unknown, principal: Principal): Admission {
  if (error instanceof ProblemError) return { principal, refusal: error }
  throw error
}
