import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { ProblemError } from '@stackquay/contract'
import { z } from 'zod'
import { createClientReader } from '../src/http/client.ts'
import { fieldErrors, jsonPointer } from '../src/http/field-errors.ts'
import { knownFields } from '../src/http/known-fields.ts'
import { problemBytes } from '../src/http/problem-bytes.ts'
import { streamOf } from '../src/http/stream-body.ts'

test('known fields are found through optional, nullable, default, record, array, union, pipe and lazy', () => {
  const leaf = z.strictObject({ deep: z.string() })
  const schema = z.strictObject({
    optional: leaf.optional(),
    record: z.record(z.string(), leaf.nullable()),
    list: z.array(leaf).default([]),
    either: z.union([z.string(), leaf, z.strictObject({ other: z.int() })]),
    piped: leaf.transform((value) => value.deep),
    lazy: z.lazy(() => leaf),
    both: z.intersection(leaf, z.object({ more: z.int() })),
  })
  assert.deepEqual(knownFields(schema, ['optional']), ['deep'])
  assert.deepEqual(knownFields(schema, ['record', 'any']), ['deep'])
  assert.deepEqual(knownFields(schema, ['list', 0]), ['deep'])
  assert.deepEqual(knownFields(schema, ['either']), ['deep', 'other'])
  assert.deepEqual(knownFields(schema, ['piped']), ['deep'])
  assert.deepEqual(knownFields(schema, ['lazy']), ['deep'])
  assert.deepEqual(knownFields(schema, ['both']), ['deep', 'more'])
  assert.deepEqual(knownFields(schema, ['nowhere', 'deeper']), [])
})

test('errors inside a union are those of the branch that was meant', () => {
  const schema = z.object({
    it: z.union([z.string(), z.strictObject({ value: z.string(), secret: z.boolean().optional() })]),
  })
  const errors = (value: unknown) => fieldErrors(schema, schema.safeParse(value).error!.issues, jsonPointer)
  assert.deepEqual(errors({ it: { value: 'x', secrt: true } }), [
    { pointer: '/it/secrt', code: 'unknown_field', detail: 'There is no field "secrt". Did you mean "secret"?' },
  ])
  assert.deepEqual(errors({ it: 5 }), [
    { pointer: '/it', code: 'invalid_type', detail: 'Expected one of: string, object.' },
  ])
  assert.deepEqual(errors({ it: {} }), [{ pointer: '/it/value', code: 'required', detail: 'Is required.' }])
})

test('a pointer escapes what RFC 6901 says', () => {
  assert.equal(jsonPointer(['a/b', 'c~d', 0]), '/a~1b/c~0d/0')
})

const message = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage

test('X-Forwarded-For counts from trusted proxies alone, and only its last hop that is not one of them', () => {
  const forwarded = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 10.0.0.2' }
  assert.equal(createClientReader([], undefined).addressOf(message('10.0.0.1', forwarded)), '10.0.0.1')
  const behind = createClientReader(['10.0.0.0/8', 'fd00::/8'], undefined)
  assert.equal(behind.addressOf(message('::ffff:10.0.0.1', forwarded)), '203.0.113.9')
  assert.equal(behind.addressOf(message('fd00::1', forwarded)), '203.0.113.9')
  assert.equal(behind.addressOf(message('192.0.2.1', forwarded)), '192.0.2.1')
  assert.equal(behind.addressOf(message('10.0.0.1')), '10.0.0.1')
  const unreadable = { 'x-forwarded-for': '203.0.113.9, nobody' }
  assert.equal(behind.addressOf(message('10.0.0.1', unreadable)), 'unknown')
})

test('TLS is believed of the base URL and of trusted proxies', () => {
  const https = { 'x-forwarded-proto': 'https' }
  assert.ok(!createClientReader([], undefined).isSecure(message('127.0.0.1', https)))
  assert.ok(createClientReader(['127.0.0.1'], undefined).isSecure(message('127.0.0.1', https)))
  assert.ok(createClientReader([], 'https://quay.example.org').isSecure(message('127.0.0.1')))
})

test('a problem for a socket without a response is a whole answer with its length in bytes, and the connection ends', () => {
  const error = new ProblemError('throttled', 'Zu viele Versuche für heute.', { headers: { 'retry-after': '8' } })
  const [head = '', body = ''] = problemBytes(error, { requestId: 'req_1', path: '/api/v1/events/ws' })
    .toString()
    .split('\r\n\r\n')
  const [status, ...lines] = head.split('\r\n')
  assert.equal(status, 'HTTP/1.1 429 Too Many Requests')
  const headers = Object.fromEntries(lines.map((line) => line.split(': ')))
  assert.deepEqual(
    ['content-type', 'retry-after', 'x-request-id', 'content-length', 'connection'].map((name) => headers[name]),
    ['application/problem+json', '8', 'req_1', String(Buffer.byteLength(body)), 'close'],
  )
  const { code, detail, instance, requestId } = JSON.parse(body)
  assert.deepEqual(
    [code, detail, instance, requestId],
    ['throttled', 'Zu viele Versuche für heute.', '/api/v1/events/ws', 'req_1'],
  )
})

test('after a body that was refused in its middle the same connection takes the next request', {
  timeout: 20_000,
}, async (t) => {
  const server = createServer(async (request, response) => {
    for await (const _ of streamOf(request)) break
    response.end('early')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  const head = (bytes: number) => `PUT / HTTP/1.1\r\nHost: here\r\nContent-Length: ${bytes}\r\n\r\n`
  socket.write(Buffer.concat([Buffer.from(head(4 << 20)), Buffer.alloc(4 << 20), Buffer.from(`${head(2)}ok`)]))
  let answers = ''
  for await (const chunk of socket) {
    answers += String(chunk)
    if (answers.split('early').length === 3) break
  }
  assert.match(answers, /early[\s\S]*early/)
})
