import type { Operation } from '../operation.ts'
import type { ProblemCode } from '../problems.ts'
import { takesIdempotencyKey } from './idempotency.ts'

/** Every problem that an operation may answer: those of its form, then its own. */
export function problemCodesOf(operation: Operation): readonly ProblemCode[] {
  return [...new Set<ProblemCode>([...common(operation), ...operation.problems])]
}

/** The operation's own problems: those that its form says belong to the shared responses. */
export function ownProblemCodes({ problems }: Operation): readonly ProblemCode[] {
  return problems.filter((code) => !codesOfForms.includes(code))
}

/** What follows from the operation's form, so that no entry of the table has to repeat it. */
function common(operation: Operation): readonly ProblemCode[] {
  const { access, method, path, body, query, params } = operation
  const changes = method !== 'GET'
  return [
    ...(body || query || params ? (['invalid_request'] as const) : []),
    ...(body ? (['invalid_json', 'too_large', 'unsupported_media_type', 'validation_failed'] as const) : []),
    ...(access.kind === 'public' ? [] : (['unauthorized'] as const)),
    ...(access.kind === 'scope' ? (['scope_insufficient', 'role_insufficient'] as const) : []),
    ...(access.kind === 'scope' && access.project ? (['project_forbidden'] as const) : []),
    ...(access.kind === 'scope' && (access.instance || access.unrestricted)
      ? (['token_restricted', 'person_limited'] as const)
      : []),
    ...(access.kind !== 'public' && access.session ? (['session_required'] as const) : []),
    ...(operation.ticket === undefined ? [] : (['ticket_invalid'] as const)),
    ...(changes ? (['csrf_failed'] as const) : []),
    ...(path.includes('{') ? (['not_found'] as const) : []),
    ...(takesIdempotencyKey(operation) ? (['idempotency_in_progress', 'idempotency_mismatch'] as const) : []),
    'headers_too_large',
    'internal_error',
  ]
}

/** Every code that `common` can tell. */
export const codesOfForms: readonly ProblemCode[] = [
  'invalid_request',
  'invalid_json',
  'too_large',
  'unsupported_media_type',
  'validation_failed',
  'unauthorized',
  'scope_insufficient',
  'role_insufficient',
  'project_forbidden',
  'token_restricted',
  'person_limited',
  'session_required',
  'ticket_invalid',
  'csrf_failed',
  'not_found',
  'idempotency_in_progress',
  'idempotency_mismatch',
  'headers_too_large',
  'internal_error',
]
