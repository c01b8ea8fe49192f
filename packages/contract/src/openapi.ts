import { z } from 'zod'
import {
  type Access,
  apiPrefix,
  type Operation,
  operationList,
  Plan,
  type ProblemCode,
  ProblemSchema,
  problemKinds,
} from './index.ts'

/** The committed `openapi.json` is exactly this text; a test compares them. */
export function openapiText(version: string): string {
  return `${JSON.stringify(openapiDocument(version), null, 2)}\n`
}

/** OpenAPI 3.1 from the table of operations. The same table gives the same document, key for key. */
export function openapiDocument(version: string, operations: readonly Operation[] = operationList): OpenapiDocument {
  const components = createComponents()
  const problem = components.refer(ProblemSchema, 'output')
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const path = apiPrefix + operation.path
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation, components, problem) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Stackquay',
      version,
      description:
        'Runs development projects natively, on Docker, or on a Docker Swarm. Everything the web page does goes through here.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components.sorted(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API token: `stq_…`.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'stackquay_session_<instance>',
          description:
            'A browser session, together with the header X-CSRF-Token that login answers, on every request; under TLS the name begins with `__Host-`. Where no header can be sent, the query parameter `ticket`.',
        },
      },
    },
  }
}

export interface OpenapiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string } & Json
  readonly servers: readonly Json[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>>; readonly securitySchemes: Json }
}

type Json = Readonly<Record<string, unknown>>

function describe(operation: Operation, components: Components, problem: Json): Json {
  const { id, tag, summary, description, access, audit, stream, ticket, dryRun } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    'x-stackquay-access': access,
    ...(audit === undefined ? {} : { 'x-stackquay-audit': audit }),
    ...(stream === undefined ? {} : { 'x-stackquay-stream': stream }),
    ...(ticket === undefined ? {} : { 'x-stackquay-ticket': ticket }),
    security: securityOf(access),
    ...some('parameters', [
      ...parametersOf(operation.params, 'path', components),
      ...parametersOf(operation.query, 'query', components),
      ...headersOf(operation),
      ...(ticket === undefined ? [] : [ticketParameter]),
    ]),
    ...(operation.body === undefined ? {} : { requestBody: bodyOf(operation, operation.body, components) }),
    responses: {
      // A plan comes with 200, whatever status the change itself has.
      ...(dryRun && operation.results[200] === undefined ? { 200: planOf(components) } : {}),
      ...Object.fromEntries(
        Object.entries(operation.results).map(([status, schema]) => [
          status,
          answerOf(operation, Number(status), schema, components, dryRun),
        ]),
      ),
      ...problemsOf(operation, problem),
    },
  }
}

const ticketParameter = {
  name: 'ticket',
  in: 'query',
  required: false,
  description: 'Of `POST /auth/tickets`, with the cookie of a browser session, where no header can be sent.',
  schema: { type: 'string' },
}

function securityOf(access: Access): readonly Json[] {
  if (access.kind === 'public') return []
  return access.session ? [{ session: [] }] : [{ bearer: [] }, { session: [] }]
}

function parametersOf(
  schema: z.ZodObject | undefined,
  place: 'path' | 'query',
  components: Components,
): readonly Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = components.plain(schema, 'input') as {
    properties?: Record<string, Json & { description?: string }>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }))
}

/**
 * Answers that hold secrets are never stored, so a key means nothing to these. A repetition still does no harm: a second
 * token of the same name is a `conflict`, a second set-up `already_set_up`, a second login one more session; a second
 * replacement of the key needs the password again, so nobody repeats it unawares.
 */
const unkept: readonly string[] = [
  'createToken',
  'createTicket',
  'login',
  'completeSetup',
  'revealSecretKey',
  'replaceSecretKey',
]

/** An answer that comes line by line, as long as its reader takes it, cannot be stored either. */
export function takesIdempotencyKey({ method, id, resultType }: Operation): boolean {
  return method === 'POST' && !unkept.includes(id) && resultType !== 'application/x-ndjson'
}

function headersOf(operation: Operation): readonly Json[] {
  const { problems } = operation
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  })
  return [
    ...(takesIdempotencyKey(operation)
      ? [header('Idempotency-Key', 'The same key and body give the stored answer, for 24 hours.')]
      : []),
    ...(problems.includes('precondition_failed')
      ? [header('If-Match', 'The ETag of what was read; refused when it has changed since.')]
      : []),
  ]
}

function bodyOf(operation: Operation, schema: z.ZodType, components: Components): Json {
  const media = { schema: components.refer(schema, 'input') }
  const types = ['application/json', ...(operation.bodyTypes ?? [])]
  return {
    required: !schema.safeParse(undefined).success,
    content: Object.fromEntries(types.map((type) => [type, media])),
  }
}

function answerOf(
  operation: Operation,
  status: number,
  schema: z.ZodType | null,
  components: Components,
  dryRun?: true,
): Json {
  const description = meanings[status] ?? 'The answer'
  if (schema === null) return { description }
  const json = components.refer(schema, 'output')
  const withPlan = dryRun && status === 200 ? { anyOf: [json, components.named('Plan')] } : json
  const types = [operation.resultType ?? 'application/json'].flat()
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema: withPlan }])) }
}

function planOf(components: Components): Json {
  const schema = components.refer(Plan, 'output')
  return { description: 'With `dryRun`: what would be done', content: { 'application/json': { schema } } }
}

const meanings: Readonly<Record<number, string>> = {
  101: 'Goes on as a WebSocket',
  200: 'Done',
  201: 'Created',
  202: 'Accepted; the operation goes on',
  204: 'Done, with nothing to say',
  503: 'Not able to serve',
}

/** Problems by status, each with its codes. */
function problemsOf(operation: Operation, problem: Json): Json {
  const codes = [...new Set<ProblemCode>([...common(operation), ...operation.problems])]
  const statuses = [...new Set(codes.map((code) => problemKinds[code].status))].sort((one, other) => one - other)
  const answers = statuses.map((status) => {
    const here = codes.filter((code) => problemKinds[code].status === status)
    const lines = here.map((code) => `\`${code}\`: ${problemKinds[code].title}.`)
    return [
      status,
      {
        description: lines.join('\n'),
        'x-stackquay-problems': here,
        content: { 'application/problem+json': { schema: problem } },
      },
    ]
  })
  return Object.fromEntries(answers)
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
    ...(access.kind === 'scope' && (access.instance || access.unrestricted) ? (['token_restricted'] as const) : []),
    ...(access.kind !== 'public' && access.session ? (['session_required'] as const) : []),
    ...(operation.ticket === undefined ? [] : (['ticket_invalid'] as const)),
    ...(changes ? (['csrf_failed'] as const) : []),
    ...(path.includes('{') ? (['not_found'] as const) : []),
    ...(takesIdempotencyKey(operation) ? (['idempotency_in_progress', 'idempotency_mismatch'] as const) : []),
    'headers_too_large',
    'internal_error',
  ]
}

interface Components {
  /** A reference when the schema has an id, else the schema itself. */
  refer(schema: z.ZodType, io: Direction): Json
  /** Always the schema itself. */
  plain(schema: z.ZodType, io: Direction): Json
  named(id: string): Json
  sorted(): Record<string, Json>
}

type Direction = 'input' | 'output'

function createComponents(): Components {
  const schemas = new Map<string, Json>()
  return {
    refer(schema, io) {
      const { properties } = convert(z.object({ it: schema }), io) as { properties: { it: Json } }
      return properties.it
    },
    plain: convert,
    named: (id) => ({ $ref: `#/components/schemas/${id}` }),
    sorted: () => Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
  }

  function convert(schema: z.ZodType, io: Direction): Json {
    const {
      $schema: _dialect,
      $defs = {},
      ...json
    } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy }) as Json & {
      $defs?: Record<string, Json>
    }
    const names = new Map(Object.entries($defs).map(([id, definition]) => [id, nameFor(id, definition, io)]))
    const rename = (reference: string) => `#/components/schemas/${names.get(reference.slice(8)) ?? reference.slice(8)}`
    for (const [id, definition] of Object.entries($defs))
      schemas.set(names.get(id)!, withReferences(definition, rename))
    return withReferences(json, rename)
  }

  /** What is sent may differ from what is answered, in defaults for instance; then it is a schema of its own. */
  function nameFor(id: string, definition: Json, io: Direction): string {
    const known = schemas.get(id)
    const same =
      known === undefined ||
      JSON.stringify(known) ===
        JSON.stringify(withReferences(definition, (ref) => ref.replace('#/$defs/', '#/components/schemas/')))
    return same ? id : `${id}${io === 'input' ? 'Input' : 'Output'}`
  }
}

/**
 * An answer may gain fields in any version, so its objects stay open; numbers in a query are texts on the wire, whose
 * pattern says nothing to a reader; the bounds of safe integers are noise.
 */
function tidy({ jsonSchema, zodSchema }: { jsonSchema: Record<string, unknown>; zodSchema: unknown }): void {
  const { def } = (zodSchema as z.ZodType)._zod as unknown as { def: { type: string; catchall?: unknown } }
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
  if (jsonSchema.type === 'integer' || jsonSchema.type === 'boolean') {
    for (const key of ['pattern', 'enum']) delete jsonSchema[key]
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  }
  delete jsonSchema.id
}

function withReferences<T>(json: T, rename: (reference: string) => string): T {
  if (Array.isArray(json)) return json.map((item) => withReferences(item, rename)) as T
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#/$defs/')
        ? [key, rename(value)]
        : [key, withReferences(value, rename)],
    ),
  ) as T
}

function some(name: string, items: readonly Json[]): Json {
  return items.length === 0 ? {} : { [name]: items }
}
