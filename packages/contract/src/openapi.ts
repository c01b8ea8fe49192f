import { apiPrefix, type Operation, operationList } from './index.ts'
import { createComponents } from './openapi/components.ts'
import { hoist } from './openapi/hoist.ts'
import type { OpenapiDocument } from './openapi/json.ts'
import { parametersOf } from './openapi/parameters.ts'
import { ownProblemCodes } from './openapi/problem-codes.ts'
import { bodyOf, responsesOf, sharedHeaders } from './openapi/responses.ts'
import { securityOf, securitySchemes, usualSecurity } from './openapi/security.ts'
import { tagTexts } from './openapi/tag-texts.ts'

export { takesIdempotencyKey } from './openapi/idempotency.ts'
export type { OpenapiDocument } from './openapi/json.ts'
export { resolved } from './openapi/json.ts'
export { ownProblemCodes, problemCodesOf } from './openapi/problem-codes.ts'

/** The committed `openapi.json` is exactly this text, which people read too; a test compares them. */
export function openapiText(version: string): string {
  return `${JSON.stringify(openapiDocument(version), null, 2)}\n`
}

/** The same without white space: what the service answers. */
export function compactOpenapiText(version: string): string {
  return JSON.stringify(openapiDocument(version))
}

/** OpenAPI 3.1 from the table of operations. The same table gives the same document, key for key. */
export function openapiDocument(version: string, operations: readonly Operation[] = operationList): OpenapiDocument {
  const components = createComponents()
  // Answers first: a schema that is sent in another form than it is answered then keeps its name for the answer.
  for (const { results } of operations)
    for (const schema of Object.values(results)) if (schema !== null) components.refer(schema, 'output')
  const described = operations.map((operation) => ({ operation, description: describe(operation, components) }))
  const schemas = components.sorted()
  const { parameters, responses } = hoist(described, Object.keys(schemas))
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { operation, description } of described) {
    const path = apiPrefix + operation.path
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: description }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Stackquay',
      version,
      description:
        'Runs development projects natively or on Docker. Everything the web page does goes through here. ' +
        'Times are RFC 3339 in UTC, sizes are bytes, durations are seconds unless a field says otherwise.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that answers this document.' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: tagTexts[name] ?? '' })),
    security: usualSecurity,
    paths,
    components: {
      schemas,
      responses,
      parameters,
      headers: sharedHeaders,
      securitySchemes,
    },
  }
}

function describe(operation: Operation, components: ReturnType<typeof createComponents>): Record<string, unknown> {
  const { id, tag, summary, description, access, audit, stream, ticket, body } = operation
  const parameters = parametersOf(operation, components)
  const security = securityOf(access)
  const own = ownProblemCodes(operation)
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    'x-stackquay-access': access,
    ...(audit === undefined ? {} : { 'x-stackquay-audit': audit }),
    ...(stream === undefined ? {} : { 'x-stackquay-stream': stream }),
    ...(ticket === undefined ? {} : { 'x-stackquay-ticket': ticket }),
    ...(own.length === 0 ? {} : { 'x-stackquay-problems': own }),
    ...(security === undefined ? {} : { security }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: bodyOf(operation, body, components) }),
    responses: responsesOf(operation, components),
  }
}
