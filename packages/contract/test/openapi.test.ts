import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { operationList, problemKinds } from '../src/index.ts'
import { examples } from '../src/openapi/examples.ts'
import { fieldTexts } from '../src/openapi/field-texts.ts'
import { compactOpenapiText, openapiDocument, openapiText, resolved } from '../src/openapi.ts'

type Json = Record<string, unknown>
interface Described {
  readonly operationId: string
  readonly description?: string
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Record<
    string,
    { readonly description?: string; readonly headers?: Json; readonly content?: Content }
  >
}
type Content = Record<string, { readonly schema: Json }>

const document = openapiDocument('1.2.3')
const { schemas } = document.components
const described = Object.values(document.paths).flatMap((methods) => Object.values(methods)) as Described[]

/** Bytes of the compact document for each operation, with descriptions and examples of all. */
const mostBytes = 2400

test('the compact document has at most 2400 bytes for each operation', (t) => {
  const bytes = Buffer.byteLength(compactOpenapiText('1.2.3'))
  const each = Math.round(bytes / described.length)
  t.diagnostic(`${described.length} operations, ${bytes} bytes, ${each} bytes for each`)
  assert.ok(each <= mostBytes, `${each} bytes for each operation`)
  assert.deepEqual(JSON.parse(compactOpenapiText('1.2.3')), JSON.parse(openapiText('1.2.3')))
})

test('every body has a schema with a name of its own', () => {
  for (const { operationId, requestBody, responses } of described) {
    const contents = [requestBody, ...Object.values(responses).map((response) => resolved(document, response))]
    for (const { schema } of contents.flatMap((body) => Object.values(body?.content ?? {}))) {
      const shapes = (schema.anyOf as Json[] | undefined) ?? [schema]
      for (const shape of shapes) assert.match(String(shape.$ref), /^#\/components\/schemas\//, operationId)
    }
  }
})

test('objects stand under names that a generated client can use as they are', () => {
  for (const [name, schema] of Object.entries(schemas)) {
    assert.match(name, /^[A-Z][A-Za-z]+$/, 'Pascal case, without numbers and underscores')
    assert.doesNotMatch(name, /(Input|Output)$/, 'not derived')
    assert.deepEqual(objectsInside(schema), [], `${name} holds an object without a name`)
  }
})

test('no two components have the same name, of whatever sort they are', () => {
  const { securitySchemes: _schemes, headers: _headers, ...sorts } = document.components
  const names = Object.values(sorts).flatMap((named) => Object.keys(named))
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})

test('no name is one that generators make of an object and its field', () => {
  const derived = new Set(
    Object.entries(schemas).flatMap(([name, schema]) =>
      Object.entries(fieldsOf(schema))
        .filter(([, field]) => field.enum !== undefined || field.additionalProperties !== undefined)
        .map(([field]) => `${name}${field.charAt(0).toUpperCase()}${field.slice(1)}`),
    ),
  )
  assert.deepEqual(
    Object.keys(schemas).filter((name) => derived.has(name)),
    [],
  )
})

test('every operation, parameter and field is described, in sentences', () => {
  for (const { operationId, description, parameters = [] } of described) {
    assert.match(description ?? '', /\.$/, operationId)
    for (const parameter of parameters) assert.ok(resolved(document, parameter).description, operationId)
  }
  for (const [name, schema] of Object.entries(schemas)) {
    for (const [field, { description, $ref }] of Object.entries(fieldsOf(schema))) {
      // What it refers to may say it for all who do.
      const target = $ref === undefined ? {} : resolved<Json>(document, { $ref: String($ref) })
      assert.ok(String(description ?? target.description ?? '').length > 8, `${name}.${field}`)
    }
  }
  for (const { name, description } of document.tags) assert.ok(description, name)
})

test('no text about fields is left over', () => {
  const known = new Set(
    Object.entries(schemas).flatMap(([name, schema]) =>
      Object.keys({ ...fieldsOf(schema), ...fieldsOf(baseOf(schema)) }).flatMap((field) => [field, `${name}.${field}`]),
    ),
  )
  assert.deepEqual(
    Object.keys(fieldTexts).filter((key) => !known.has(key)),
    [],
  )
})

test('every body has an example that the contract takes, and none holds a secret', () => {
  const named = new Map<string, z.ZodType>()
  for (const { body, results } of operationList) {
    const whole = body instanceof z.ZodOptional ? (body.unwrap() as z.ZodType) : body
    for (const schema of [whole, ...Object.values(results)])
      if (schema != null) named.set(String(schema.meta()?.id), schema)
  }
  for (const [name, schema] of named) {
    assert.ok(name in examples, `${name} has no example`)
    assert.deepEqual(z.safeParse(schema, examples[name]).error?.issues, undefined, name)
    assert.deepEqual((schemas[name] as { examples: unknown[] }).examples, [examples[name]], name)
  }
  for (const [name, example] of Object.entries(examples)) {
    assert.ok(name === 'Problem' || named.has(name), `${name} is an example of nothing`)
    assert.doesNotMatch(JSON.stringify(example), /stq_(?!EXAM)|whsec_(?!EXAMPLE)|-----BEGIN/, name)
  }
})

test('every example fits the published schema too', () => {
  for (const [name, example] of Object.entries(examples))
    assert.deepEqual(mismatches(example, schemas[name]!), [], name)
})

test('the test of examples notices a wrong type, an unknown field and a missing one', () => {
  const { name: _name, ...nameless } = examples.ProjectCreate as Json
  for (const wrong of [{ ...nameless, name: 7 }, { ...nameless, name: 'Shop', shape: 'round' }, nameless])
    assert.notDeepEqual(mismatches(wrong, schemas.ProjectCreate!), [])
  assert.notDeepEqual(mismatches({ ...(examples.Operation as Json), state: 'asleep' }, schemas.Operation!), [])
  assert.notDeepEqual(mismatches({ kind: 'robot' }, schemas.Me!), [])
})

test('where the shape of an answer has a tag, the tag is named', () => {
  const tagged = Object.entries(schemas).filter(([, { discriminator }]) => discriminator !== undefined)
  assert.deepEqual(
    tagged.map(([name]) => name),
    ['Me'],
  )
  const { discriminator } = schemas.Me as { discriminator: { mapping: Record<string, string>; propertyName: string } }
  assert.equal(discriminator.propertyName, 'kind')
  assert.deepEqual(discriminator.mapping, {
    session: '#/components/schemas/SessionIdentity',
    token: '#/components/schemas/TokenIdentity',
  })
  for (const [name, schema] of Object.entries(schemas))
    if (schema.oneOf !== undefined) assert.ok(schema.discriminator, `${name} has shapes without a tag`)
})

test('patterns are read alike by ECMAScript without flags, Python, Go and Java', () => {
  const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, text]) =>
    String(JSON.parse(text!)),
  )
  assert.ok(patterns.length > 10)
  for (const pattern of patterns) {
    assert.ok(new RegExp(pattern))
    assert.doesNotMatch(pattern, /\(\?(?!:)|\\[pPkuc0]|\\[1-9]|--/, pattern)
  }
})

test('responses name the headers that come with them', () => {
  const headersOf = (id: string, status: string) => {
    const { responses } = described.find(({ operationId }) => operationId === id)!
    return Object.keys(resolved(document, responses[status]!).headers ?? {}).sort()
  }
  assert.deepEqual(headersOf('getProject', '200'), ['ETag', 'X-Request-Id'])
  assert.deepEqual(headersOf('getProject', '304'), ['ETag', 'X-Request-Id'])
  assert.deepEqual(headersOf('listProjects', '200'), ['X-Request-Id'])
  assert.deepEqual(headersOf('createProject', '201'), ['ETag', 'Idempotency-Replayed', 'X-Request-Id'])
  assert.deepEqual(headersOf('createToken', '201'), ['X-Request-Id'])
  assert.deepEqual(headersOf('login', '429'), ['Retry-After', 'X-Request-Id'])
  assert.deepEqual(headersOf('startProject', '409'), ['Idempotency-Replayed', 'Retry-After', 'X-Request-Id'])
  for (const { operationId, responses } of described) {
    const statuses = Object.keys(responses)
    assert.ok(
      statuses.some((status) => /^2|^101$|^303$/.test(status)),
      operationId,
    )
    for (const response of Object.values(responses)) assert.ok(resolved(document, response).description, operationId)
  }
})

test('the document promises no engine that is not there', () => {
  assert.doesNotMatch(JSON.stringify(document), /swarm/i)
  assert.ok(Object.keys(problemKinds).length > 0)
})

/** Its own fields: of an object that extends another, those that it adds. */
function fieldsOf(schema: Json): Record<string, Json> {
  const shapes = [schema, ...((schema.allOf as Json[] | undefined) ?? [])]
  return Object.assign({}, ...shapes.map(({ properties = {} }) => properties))
}

function baseOf({ allOf }: Json): Json {
  const [base] = (allOf ?? []) as { $ref: string }[]
  return base === undefined ? {} : resolved<Json>(document, base)
}

/** Paths of objects with fields inside a schema, besides the schema itself and what it adds to another. */
function objectsInside(schema: Json): string[] {
  const found: string[] = []
  const look = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return
    if ('properties' in node && path !== '' && !/^\/allOf\/\d$/.test(path)) found.push(path)
    for (const [key, value] of Object.entries(node)) if (key !== 'examples') look(value, `${path}/${key}`)
  }
  look(schema, '')
  return found
}

/** As much of JSON Schema as the document uses. */
function mismatches(value: unknown, schema: Json, path = ''): string[] {
  const at = (text: string) => [`${path || '/'} ${text}`]
  if (schema.$ref !== undefined)
    return mismatches(value, resolved(document, { $ref: String(schema.$ref) } as Json), path)
  const all = ((schema.allOf as Json[] | undefined) ?? []).flatMap((part) => mismatches(value, part, path))
  if (all.length > 0) return all
  const choices = (schema.anyOf ?? schema.oneOf) as Json[] | undefined
  if (choices?.every((choice) => mismatches(value, choice, path).length > 0)) return at('fits no shape')
  const types = [schema.type ?? []].flat() as string[]
  if (types.length > 0 && !types.some((type) => isOf(type, value))) return at(`is not ${types.join(' or ')}`)
  if (schema.enum !== undefined && !(schema.enum as unknown[]).includes(value)) return at('is not in the list')
  if (schema.const !== undefined && schema.const !== value) return at(`is not ${schema.const}`)
  if (typeof value === 'string') {
    if (value.length < Number(schema.minLength ?? 0)) return at('is too short')
    if (schema.pattern !== undefined && !new RegExp(String(schema.pattern)).test(value)) return at('does not match')
    if (schema.format === 'date-time' && !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return at('is no time')
  }
  if (Array.isArray(value))
    return value.flatMap((item, index) => mismatches(item, (schema.items ?? {}) as Json, `${path}/${index}`))
  if (typeof value !== 'object' || value === null) return []
  const properties = (schema.properties ?? {}) as Record<string, Json>
  const missing = ((schema.required ?? []) as string[]).filter((field) => !(field in value))
  return [
    ...missing.flatMap((field) => at(`lacks ${field}`)),
    ...Object.entries(value).flatMap(([field, inner]) => {
      const own = properties[field] ?? schema.additionalProperties ?? {}
      return own === false ? at(`has the unknown field ${field}`) : mismatches(inner, own as Json, `${path}/${field}`)
    }),
  ]
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}
