import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeTypes, serviceTypes } from '@stackquay/catalog'
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
  assert.equal(kindOf(z.union([z.string(), z.array(z.string())])), 'words')
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

test('a text that is only written or answered as its presence is a secret; the presence is no field of its own', () => {
  const server = z.object({
    host: z.string(),
    port: z.int().default(6380),
    password: z.string().nullable(),
    hasPassword: z.boolean().optional().meta({ readOnly: true }),
    tls: z.boolean().default(false),
  })
  const root = z.toJSONSchema(z.object({ server: server.nullable() }), { io: 'input' }) as JsonSchema
  const [group] = fieldsOf(root)
  assert.ok(group?.kind === 'group' && group.nullable)
  assert.deepEqual(
    group.fields.map(({ key, kind, nullable }) => `${key}: ${kind}${nullable ? ' or null' : ''}`),
    ['host: text', 'port: number', 'password: secret or null', 'tls: flag'],
  )
  assert.deepEqual(group.initial, { port: 6380, tls: false })
  const password = group.fields[2]
  assert.equal(password?.kind === 'secret' && password.presence, 'hasPassword')
  assert.equal(kindOf(z.string().meta({ format: 'password' })), 'secret')
  assert.equal(kindOf(z.string().meta({ writeOnly: true })), 'secret')
})

test('the range of safe integers is no bound, and a flag that is only written is an act and no field', () => {
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

test('every setting of every runtime and service in the catalogue has a control made for it', () => {
  for (const kind of [...runtimeTypes, ...serviceTypes]) {
    const fields = fieldsOf(z.toJSONSchema(kind.settings.patch, { io: 'input' }) as JsonSchema)
    assert.ok(fields.length > 0, kind.name)
    const plain = fields.filter((field) => field.kind === 'json').map((field) => `${kind.name}.${field.key}`)
    assert.deepEqual(plain, [])
  }
})
