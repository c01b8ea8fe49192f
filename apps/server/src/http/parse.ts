import { type FieldError, type Operation, ProblemError } from '@stackquay/contract'
import { z } from 'zod'
import type { AnyInput } from './bind.ts'
import { fieldErrors, jsonPointer } from './field-errors.ts'

export interface RawInput {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

/**
 * Parses a request once. All that is wrong is said together: as 422 when the body has a part in it, else as 400. In
 * `errors` a body's field stands as a JSON pointer, `?limit` is of the query and `{name}` of the path.
 */
export function parserOf(operation: Operation): (raw: RawInput) => AnyInput {
  const params = partOf(operation.params, (path) => `{${path.join('.')}}`)
  const query = partOf(operation.query ?? noQuery, (path) => `?${path.join('.')}`)
  const body =
    operation.bodyStream === true || operation.rawBody === true ? asItIs : partOf(operation.body, jsonPointer)
  // Most requests have no query; what an empty one is parsed to is always the same.
  const emptyQuery = query(emptyObject)

  return (raw) => {
    const parsedParams = params(raw.params)
    const parsedQuery = isEmpty(raw.query) ? emptyQuery : query(raw.query)
    const parsedBody = body(raw.body)
    if (parsedParams.errors ?? parsedQuery.errors ?? parsedBody.errors) {
      throw refusal([...(parsedParams.errors ?? []), ...(parsedQuery.errors ?? [])], parsedBody.errors ?? [])
    }
    return { params: parsedParams.value, query: parsedQuery.value, body: parsedBody.value } as AnyInput
  }
}

type Parsed =
  | { readonly value: unknown; readonly errors?: undefined }
  | { readonly value?: undefined; readonly errors: FieldError[] }

const emptyObject = Object.freeze({})
/** A query parameter that an operation does not know is a typing error too. */
const noQuery = z.strictObject({})

function partOf(
  schema: z.ZodType | undefined,
  pointer: (path: readonly PropertyKey[]) => string,
): (raw: unknown) => Parsed {
  if (schema === undefined) return () => ({ value: undefined })
  return (raw) => {
    const parsed = schema.safeParse(raw)
    return parsed.success ? { value: parsed.data } : { errors: fieldErrors(schema, parsed.error.issues, pointer) }
  }
}

/** A stream is read by who needs it. */
function asItIs(value: unknown): Parsed {
  return { value }
}

function isEmpty(query: unknown): boolean {
  for (const _key in query as object) return false
  return true
}

function refusal(ofRequest: readonly FieldError[], ofBody: readonly FieldError[]): ProblemError {
  const errors = [...ofBody, ...ofRequest]
  const code = ofBody.length > 0 ? 'validation_failed' : 'invalid_request'
  return new ProblemError(code, summary(errors), { errors })
}

function summary(errors: readonly FieldError[]): string {
  const [first] = errors
  if (errors.length === 1 && first)
    return first.pointer === '' ? `The body: ${first.detail}` : `${first.pointer}: ${first.detail}`
  return `${errors.length} fields are not valid: ${errors.map(({ pointer }) => pointer || 'the body').join(', ')}.`
}
