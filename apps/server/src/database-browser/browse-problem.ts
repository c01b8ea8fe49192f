import { BrowseError, type BrowseErrorCode } from '@stackquay/catalog/browse/driver'
import { ProblemError } from '@stackquay/contract'

const codes: Readonly<Record<Exclude<BrowseErrorCode, 'invalid'>, ConstructorParameters<typeof ProblemError>[0]>> = {
  refused: 'query_failed',
  unreachable: 'unavailable',
  too_late: 'deadline_exceeded',
  not_found: 'not_found',
  changed: 'precondition_failed',
  cancelled: 'aborted',
}

/** What keeps a request from its answer, as a problem. `invalid`: which one a request that makes no sense is. */
export async function asProblem<Value>(
  act: Promise<Value>,
  invalid: 'invalid_request' | 'validation_failed',
): Promise<Value> {
  try {
    return await act
  } catch (error) {
    throw problemOf(error, invalid)
  }
}

export function problemOf(error: unknown, invalid: 'invalid_request' | 'validation_failed'): unknown {
  if (!(error instanceof BrowseError)) return error
  const { code, message, facts } = error
  const hint = typeof facts.serverHint === 'string' ? { hint: facts.serverHint } : hintOf(facts.sqlState)
  return new ProblemError(code === 'invalid' ? invalid : codes[code], message, {
    ...hint,
    extensions: facts,
    cause: error,
  })
}

/** What the servers say when only reading is allowed: in a transaction, and to a user without rights. */
const readOnlyStates: ReadonlySet<unknown> = new Set(['25006', '42501', '42000'])

function hintOf(state: unknown): { readonly hint?: string } {
  if (!readOnlyStates.has(state)) return {}
  return { hint: 'Statements are read-only unless the request says "write": true.' }
}
