import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeKinds } from '@stackquay/catalog'
import { z } from 'zod'
import { fieldsOf, type JsonSchema, type SettingsField } from '../src/lib/settings-fields.ts'

function kindOf(schema: z.ZodType): string {
  const root = z.toJSONSchema(z.object({ field: schema }), { io: 'input' }) as JsonSchema
  const [field] = fieldsOf(root)
  assert.ok(field)
  return field.nullable ? `${field.kind} or null` : field.kind
}

test('every shape of setting gets its control', () => {
  assert.equal(kindOf(z.boolean()), 'flag')
  assert.equal(kindOf(z.enum(['a', 'b'])), 'choice')
  assert.equal(kindOf(z.enum(['a', 'b']).nullable()), 'choice or null')
  assert.equal(kindOf(z.string()), 'text')
  assert.equal(kindOf(z.string().nullable()), 'text or null')
  assert.equal(kindOf(z.int()), 'number')
  assert.equal(kindOf(z.array(z.string()).nullable()), 'words or null')
  assert.equal(kindOf(z.record(z.string(), z.string())), 'map')
  assert.equal(kindOf(z.object({ port: z.int() })), 'group')
  assert.equal(kindOf(z.union([z.string(), z.int()])), 'json')
})

test('a schema behind a reference is followed, and keeps its own description', () => {
  const root: JsonSchema = {
    type: 'object',
    properties: { server: { $ref: '#/$defs/Server', description: 'The server.' } },
    $defs: { Server: { type: 'object', properties: { port: { type: 'integer', minimum: 1, maximum: 65_535 } } } },
  }
  const [field] = fieldsOf(root)
  assert.equal(field?.kind, 'group')
  assert.equal(field?.help, 'The server.')
  const [port] = (field as SettingsField & { kind: 'group' }).fields
  assert.deepEqual(port?.kind === 'number' && [port.min, port.max], [1, 65_535])
})

test('the range of safe integers is no bound, and fields that are only written are not shown', () => {
  const [hostPort, ...others] = fieldsOf({
    type: 'object',
    properties: {
      hostPort: {
        anyOf: [
          { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
          { type: 'null' },
        ],
        readOnly: true,
      },
      removeData: { type: 'boolean', writeOnly: true },
    },
  })
  assert.equal(others.length, 0)
  assert.equal(hostPort?.readOnly, true)
  assert.deepEqual(hostPort?.kind === 'number' && [hostPort.min, hostPort.max], [null, null])
})

test('every setting of every runtime in the catalogue has a control made for it', () => {
  for (const kind of runtimeKinds) {
    const fields = fieldsOf(z.toJSONSchema(kind.settings.patch, { io: 'input' }) as JsonSchema)
    assert.ok(fields.length > 0, kind.name)
    const plain = fields.filter((field) => field.kind === 'json').map((field) => `${kind.name}.${field.key}`)
    assert.deepEqual(plain, [])
  }
})
