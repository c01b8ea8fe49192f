import { type Operation, ProblemError, type Scope } from '@stackquay/contract'
import {
  includes,
  mayEnter,
  onProject,
  type RequestParts,
  raisedRefusalOf,
  refusalOf,
  removalRefusalOf,
} from '@stackquay/domain/access'
import type { Principal, RequestContext } from './handler.ts'
import { refusalProblem, roleInsufficient, scopeInsufficient } from './refusal-problem.ts'

/** Throws for what the operation declares to need more than itself (`raised`), such as `removeData: true` in the body. */
export function requireRaised(principal: Principal, { access }: Operation, parts: RequestParts): void {
  const refusal = raisedRefusalOf(principal, access, parts)
  if (refusal !== null) throw refusalProblem(refusal, principal)
}

/** Throws where a change that was proposed deletes data, and the caller may not. */
export function requireMayRemove(principal: Principal, deletesData: readonly string[]): void {
  const refusal = removalRefusalOf(principal, deletesData)
  if (refusal !== null) throw refusalProblem(refusal, principal)
}

/** For a need that no part of the request tells: what a handler finds. What a request tells stands in the contract. */
export function requireScope({ principal }: RequestContext, scope: Scope): void {
  if (principal.kind === 'anonymous') throw refusalProblem({ reason: 'unauthorized' }, principal)
  if (includes(principal.scope, scope)) return
  throw principal.kind === 'token' ? scopeInsufficient(principal, scope) : roleInsufficient(principal.scope, scope)
}

/**
 * For things that belong to a project but are not addressed through it, such as an operation by its id. Give null for
 * what does not exist: a restricted caller must not learn the difference. `scope` is what it needs on that project, which may be less of a
 * person there than elsewhere.
 */
export function requireProject({ principal }: RequestContext, project: string | null, scope: Scope): void {
  if (!mayEnter(principal, project))
    throw new ProblemError('project_forbidden', 'This belongs to a project that is closed to you.')
  if (project === null) return
  const refusal = refusalOf(principal, { kind: 'scope', scope, project: true }, project)
  if (refusal !== null) throw refusalProblem(refusal, onProject(principal, project))
}
