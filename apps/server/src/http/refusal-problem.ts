import { ProblemError, type Scope } from '@stackquay/contract'
import { includes, type Refusal } from '@stackquay/domain/access'
import type { Principal } from './handler.ts'

/** The answer for a refusal: says what the caller has and what it would need. */
export function refusalProblem(refusal: Refusal, principal: Principal, project?: string): ProblemError {
  switch (refusal.reason) {
    case 'unauthorized':
      return new ProblemError('unauthorized', 'This needs credentials, and none were sent.', {
        headers: { 'www-authenticate': 'Bearer realm="stackquay"' },
      })
    case 'session_required':
      return new ProblemError(
        'session_required',
        'No token can do this, whatever its scope; it needs a browser session.',
      )
    case 'enrolment_required':
      return new ProblemError('enrolment_required', 'This instance requires a second factor, and you have none yet.')
    case 'token_restricted':
      return new ProblemError('token_restricted', restricted[refusal.because])
    case 'person_limited':
      return new ProblemError('person_limited', limited[refusal.because])
    case 'project_forbidden':
      return new ProblemError(
        'project_forbidden',
        principal.kind === 'token'
          ? `The token may not use the project "${project ?? ''}".`
          : `The project "${project ?? ''}" is closed to you.`,
      )
    case 'scope_insufficient':
      return scopeInsufficient(principal, refusal.requiredScope)
    case 'role_insufficient':
      return roleInsufficient(refusal.role, refusal.requiredScope)
    default:
      return refusal satisfies never
  }
}

const restricted = {
  instance: 'The token is restricted to projects, and this is about the whole instance.',
  creation: 'The token is restricted to projects, so it cannot create one.',
}

const limited = {
  instance: 'Your role holds on some projects only, and this is about the whole instance.',
  creation: 'Your role holds on some projects only, so you cannot create one.',
}

export function scopeInsufficient(principal: Principal, requiredScope: Scope): ProblemError {
  if (principal.kind !== 'token') throw new TypeError('Only tokens have a scope.')
  const { token, user, scope } = principal
  // A demoted owner weakens the token; without the reason the answer would contradict what the token was made with.
  const why = includes(scope, token.scope) ? '' : ` (made with ${token.scope}, but ${user.name}’s role is ${scope} now)`
  return new ProblemError(
    'scope_insufficient',
    `The token "${token.name}" has scope ${scope}${why}; this needs scope ${requiredScope}.`,
    {
      extensions: { tokenScope: scope, requiredScope },
    },
  )
}

export function roleInsufficient(role: Scope, requiredScope: Scope): ProblemError {
  return new ProblemError('role_insufficient', `Your role is ${role}; this needs ${requiredScope}.`, {
    extensions: { role, requiredScope },
  })
}
