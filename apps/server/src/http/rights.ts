import { ProblemError, type Scope } from '@stackquay/contract'
import { includes, mayEnter } from '@stackquay/domain/access'
import type { RequestContext } from './handler.ts'
import { refusalProblem, roleInsufficient, scopeInsufficient } from './refusal-problem.ts'

/** For what only the body reveals to need more than the operation itself, such as `removeData: true`. */
export function requireScope({ principal }: RequestContext, scope: Scope): void {
  if (principal.kind === 'anonymous') throw refusalProblem({ reason: 'unauthorized' }, principal)
  if (includes(principal.scope, scope)) return
  throw principal.kind === 'token' ? scopeInsufficient(principal, scope) : roleInsufficient(principal.scope, scope)
}

/**
 * For things that belong to a project but are not addressed through it, such as an operation by its id. Give null for
 * what does not exist: a restricted token must not learn the difference.
 */
export function requireProject({ principal }: RequestContext, project: string | null): void {
  if (!mayEnter(principal, project))
    throw new ProblemError('project_forbidden', 'This belongs to a project the token may not use.')
}
