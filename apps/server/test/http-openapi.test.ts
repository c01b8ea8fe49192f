import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiPrefix, operationList, problemKinds } from '@stackquay/contract'
import {
  openapiDocument,
  openapiText,
  ownProblemCodes,
  problemCodesOf,
  resolved,
  takesIdempotencyKey,
} from '@stackquay/contract/openapi'

interface Described {
  readonly operationId: string
  readonly security?: readonly Record<string, unknown>[]
  readonly 'x-stackquay-problems'?: readonly string[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: true
    readonly schema: { readonly type?: string }
  }[]
  readonly requestBody?: { readonly required?: true; readonly content: Record<string, unknown> }
  readonly responses: Readonly<Record<string, { readonly 'x-stackquay-problems'?: readonly string[] }>>
}

const document = openapiDocument('1.2.3')
/** With what it refers to put in its place. */
const described = (path: string, method: string): Described => {
  const bare = document.paths[apiPrefix + path]?.[method.toLowerCase()] as Described
  const responses = Object.entries(bare.responses).map(([status, response]) => [status, resolved(document, response)])
  return {
    ...bare,
    parameters: (bare.parameters ?? []).map((parameter) => resolved(document, parameter)),
    responses: Object.fromEntries(responses),
  }
}
const operation = (id: string) => {
  const { path, method } = operationList.find((one) => one.id === id)!
  return described(path, method)
}

test('the same table gives the same text, which ends with a line end', () => {
  assert.equal(openapiText('1.2.3'), openapiText('1.2.3'))
  assert.ok(openapiText('1.2.3').endsWith('}\n'))
  assert.equal(document.info.version, '1.2.3')
})

test('every operation is described with its parameters, its answers and who may call it', () => {
  for (const one of operationList) {
    const { id, path, method, access, results, problems } = one
    const { operationId, parameters = [], responses, ...rest } = described(path, method)
    const security = rest.security ?? document.security
    assert.equal(operationId, id)
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name }) => name).sort(),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      id,
    )
    assert.ok(inPath.every(({ required }) => required))
    for (const status of Object.keys(results)) assert.ok(responses[status], `${id} ${status}`)
    const own = rest['x-stackquay-problems'] ?? []
    assert.deepEqual(own, ownProblemCodes(one), id)
    const codes = [...own, ...Object.values(responses).flatMap((answer) => answer['x-stackquay-problems'] ?? [])]
    assert.equal(new Set(codes).size, codes.length, id)
    for (const code of [...problems, ...problemCodesOf(one)]) assert.ok(codes.includes(code), `${id} ${code}`)
    const statuses = problemCodesOf(one).map((code) => String(problemKinds[code].status))
    const refusing = Object.entries(responses).filter(([, answer]) => answer['x-stackquay-problems'] !== undefined)
    assert.deepEqual(refusing.map(([status]) => status).sort(), [...new Set(statuses)].sort(), id)
    assert.equal(security.length === 0, access.kind === 'public', id)
    if (access.kind !== 'public' && access.session) assert.deepEqual(security, [{ session: [] }], id)
  }
})

test('problems stand under the status of their catalogue entry', () => {
  for (const one of operationList) {
    const { responses, 'x-stackquay-problems': own = [] } = described(one.path, one.method)
    for (const [status, { 'x-stackquay-problems': codes = [] }] of Object.entries(responses)) {
      for (const code of codes)
        assert.equal(String(problemKinds[code as keyof typeof problemKinds].status), status, code)
    }
    for (const code of own) {
      const answer = responses[String(problemKinds[code as keyof typeof problemKinds].status)]
      assert.ok(answer?.['x-stackquay-problems'], `${one.id} ${code}`)
    }
  }
})

test('every reference leads to a component, and every component is referred to', () => {
  const text = JSON.stringify(document)
  const references = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!))
  assert.ok(references.size > 20)
  const { securitySchemes: _schemes, ...components } = document.components
  const known = Object.entries(components).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name}`),
  )
  assert.deepEqual([...references].sort(), known.sort())
  assert.ok(!text.includes('$defs'))
})

test('query parameters have the type that a caller means, not the text of the wire', () => {
  const types = Object.fromEntries(
    (operation('updateProject').parameters ?? []).map(({ name, schema }) => [name, schema.type]),
  )
  assert.deepEqual(types, { id: 'string', purge: 'boolean', dryRun: 'boolean', wait: 'integer', 'If-Match': 'string' })
})

test('bodies say whether they are required and in which types they may come', () => {
  assert.equal(operation('startProject').requestBody?.required, undefined)
  const patch = operation('updateProject').requestBody
  assert.equal(patch?.required, true)
  assert.deepEqual(Object.keys(patch?.content ?? {}), ['application/json', 'application/merge-patch+json'])
})

test('an idempotency key is offered where it means something', () => {
  for (const one of operationList) {
    const names = (described(one.path, one.method).parameters ?? []).map(({ name }) => name)
    assert.equal(names.includes('Idempotency-Key'), takesIdempotencyKey(one), one.id)
  }
  assert.ok(!takesIdempotencyKey(operationList.find(({ id }) => id === 'createToken')!))
})
