import type { z } from 'zod'
import type { Operation } from '../operation.ts'
import { type ProblemCode, problemKinds } from '../problems.ts'
import { ProblemSchema } from '../schemas/common.ts'
import { Plan } from '../schemas/operations.ts'
import type { Components } from './components.ts'
import { takesIdempotencyKey } from './idempotency.ts'
import type { Json } from './json.ts'
import { codesOfForms, problemCodesOf } from './problem-codes.ts'

const header = (description: string, type = 'string') => ({ description, schema: { type } })

export const sharedHeaders: Readonly<Record<string, Json>> = {
  ETag: header('The version of the answer, for `If-Match` and `If-None-Match`.'),
  IdempotencyReplayed: {
    description: 'Present when this is the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  RequestId: header('Names this request in the log, the audit log and problems.'),
  RetryAfter: header('Seconds to wait before the request is worth repeating.', 'integer'),
}

const headerNames = {
  ETag: 'ETag',
  'Idempotency-Replayed': 'IdempotencyReplayed',
  'X-Request-Id': 'RequestId',
  'Retry-After': 'RetryAfter',
} as const

/** The schemas that handlers answer together with their version. */
const versioned: ReadonlySet<string> = new Set([
  'Project',
  'ProxyRules',
  'MailSource',
  'AttachmentContent',
  'OpenapiDocument',
])

export function answersEtag({ results }: Operation): boolean {
  return Object.values(results).some((schema) => versioned.has(idOf(schema)))
}

export function bodyOf(operation: Operation, schema: z.ZodType, components: Components): Json {
  const media = { schema: components.refer(schema, 'input') }
  const types = [...(operation.bodyStream === true ? [] : ['application/json']), ...(operation.bodyTypes ?? [])]
  return {
    ...(schema.safeParse(undefined).success ? {} : { required: true }),
    content: Object.fromEntries(types.map((type) => [type, media])),
  }
}

/** All answers of an operation by their status, problems among them. */
export function responsesOf(operation: Operation, components: Components): Record<string, Json> {
  const { results, dryRun, method } = operation
  return {
    // A plan comes with 200, whatever status the change itself has.
    ...(dryRun && results[200] === undefined ? { 200: planOf(operation, components) } : {}),
    ...Object.fromEntries(
      Object.entries(results).map(([status, schema]) => [
        status,
        answerOf(operation, Number(status), schema, components),
      ]),
    ),
    ...(method === 'GET' && answersEtag(operation)
      ? { 304: { description: 'The version of the ETag is current', headers: headersOf(['X-Request-Id', 'ETag']) } }
      : {}),
    ...problemsOf(operation, components),
  }
}

function answerOf(operation: Operation, status: number, schema: z.ZodType | null, components: Components): Json {
  const description = meanings[status] ?? 'The answer'
  if (status === 101) return { description }
  const headers = headersOf([
    'X-Request-Id',
    ...(versioned.has(idOf(schema)) ? (['ETag'] as const) : []),
    ...(takesIdempotencyKey(operation) ? (['Idempotency-Replayed'] as const) : []),
  ])
  if (schema === null) return { description, headers }
  const json = components.refer(schema, 'output')
  const withPlan = operation.dryRun && status === 200 ? { anyOf: [json, components.named('Plan')] } : json
  const types = [operation.resultType ?? 'application/json'].flat()
  return { description, headers, content: Object.fromEntries(types.map((type) => [type, { schema: withPlan }])) }
}

function planOf(operation: Operation, components: Components): Json {
  return {
    description: 'With `dryRun`: the plan',
    headers: headersOf([
      'X-Request-Id',
      ...(takesIdempotencyKey(operation) ? (['Idempotency-Replayed'] as const) : []),
    ]),
    content: { 'application/json': { schema: components.refer(Plan, 'output') } },
  }
}

const meanings: Readonly<Record<number, string>> = {
  101: 'Goes on as a WebSocket',
  200: 'Done',
  201: 'Created',
  202: 'Accepted; the operation continues',
  204: 'Done, with nothing to say',
  303: 'Leads on',
  503: 'Not able to serve',
}

function headersOf(names: readonly (keyof typeof headerNames)[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${headerNames[name]}` }]))
}

/** Problems by status. An operation names its codes itself, so that one response of a status serves all of them. */
function problemsOf(operation: Operation, components: Components): Record<string, Json> {
  const schema = components.refer(ProblemSchema, 'output')
  const codes = problemCodesOf(operation)
  const statuses = [...new Set(codes.map((code) => problemKinds[code].status))].sort((one, other) => one - other)
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: problemTexts[status] ?? 'A problem',
        'x-stackquay-problems': codesOfForms.filter((code) => problemKinds[code].status === status),
        headers: headersOf([
          'X-Request-Id',
          ...(waits(status, codes) ? (['Retry-After'] as const) : []),
          ...(isKept(status) && takesIdempotencyKey(operation) ? (['Idempotency-Replayed'] as const) : []),
        ]),
        content: { 'application/problem+json': { schema } },
      },
    ]),
  )
}

/** Which refusals say how long to wait: throttling, a first request that still runs, and full queues. */
function waits(status: number, codes: readonly ProblemCode[]): boolean {
  if (status === 429) return true
  if (status === 409) return codes.includes('idempotency_in_progress')
  return status === 503 && codes.includes('throttled')
}

/** Refusals of handlers are stored with a key; those at the entrance come before it. */
function isKept(status: number): boolean {
  return [403, 404, 409, 410, 412, 422, 429].includes(status)
}

const problemTexts: Readonly<Record<number, string>> = {
  400: 'The request or its body cannot be read',
  401: 'Credentials are missing or wrong',
  403: 'The caller may not do this',
  404: 'The id or path leads to nothing',
  409: 'The present state does not allow it',
  410: 'It was there and is gone',
  412: 'It was changed since it was read',
  413: 'The body is larger than 1 MiB',
  415: 'The media type of the body is not supported',
  422: 'The body can be read and is wrong, or this machine cannot do it',
  428: 'The change needs `If-Match`',
  429: 'Too many attempts; wait for `Retry-After`',
  431: 'The headers of the request are too large',
  500: 'The service failed',
  503: 'The service or an engine cannot answer now',
  504: 'It took longer than allowed',
  507: 'The disk is full',
}

function idOf(schema: z.ZodType | null): string {
  return String(schema?.meta()?.id ?? '')
}
