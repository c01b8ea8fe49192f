import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiPrefix, operationList, problemKinds } from '@stackquay/contract'
import { openapiDocument, openapiText, takesIdempotencyKey } from '@stackquay/contract/openapi'

interface Described {
  readonly operationId: string
  readonly security: readonly Record<string, unknown>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: { readonly type?: string }
  }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, unknown> }
  readonly responses: Readonly<Record<string, { readonly 'x-stackquay-problems'?: readonly string[] }>>
}

const document = openapiDocument('1.2.3')
const described = (path: string, method: string) =>
  document.paths[apiPrefix + path]?.[method.toLowerCase()] as Described
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
  for (const { id, path, method, access, results, problems } of operationList) {
    const { operationId, parameters = [], security, responses } = described(path, method)
    assert.equal(operationId, id)
    const inPath = parameters.filter((parameter) => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name }) => name).sort(),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
      id,
    )
    assert.ok(inPath.every(({ required }) => required))
    for (const status of Object.keys(results)) assert.ok(responses[status], `${id} ${status}`)
    const codes = Object.values(responses).flatMap((answer) => answer['x-stackquay-problems'] ?? [])
    assert.equal(new Set(codes).size, codes.length, id)
    for (const code of problems) assert.ok(codes.includes(code), `${id} ${code}`)
    assert.equal(security.length === 0, access.kind === 'public', id)
    if (access.kind !== 'public' && access.session) assert.deepEqual(security, [{ session: [] }], id)
  }
})

test('problems stand under the status of their catalogue entry', () => {
  for (const methods of Object.values(document.paths)) {
    for (const { responses } of Object.values(methods) as Described[]) {
      for (const [status, { 'x-stackquay-problems': codes = [] }] of Object.entries(responses)) {
        for (const code of codes)
          assert.equal(String(problemKinds[code as keyof typeof problemKinds].status), status, code)
      }
    }
  }
})

test('every reference leads to a schema, and every schema is referred to', () => {
  const text = JSON.stringify(document)
  const references = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!))
  assert.ok(references.size > 20)
  const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
  assert.deepEqual([...references].sort(), known.sort())
  assert.ok(!text.includes('$defs'))
})

test('query parameters have the type that a caller means, not the text of the wire', () => {
  const types = Object.fromEntries(
    (operation('updateProject').parameters ?? []).map(({ name, schema }) => [name, schema.type]),
  )
  assert.deepEqual(types, { id: 'string', dryRun: 'boolean', wait: 'integer', 'If-Match': 'string' })
})

test('bodies say whether they are required and in which types they may come', () => {
  assert.equal(operation('startProject').requestBody?.required, false)
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
