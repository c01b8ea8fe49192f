import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { encodingFor } from '../src/http/openapi-answer.ts'
import { openTestHttpApp } from './http-support.ts'

const url = '/api/v1/openapi.json'

test('the document is answered without white space, under the hash of its content', async (t) => {
  const { app } = await openTestHttpApp(t)
  const first = await app.inject({ url })
  assert.equal(first.statusCode, 200)
  assert.equal(first.body, JSON.stringify(JSON.parse(first.body)))
  assert.match(String(first.headers.etag), /^"[\w-]{43}"$/)
  assert.equal(first.headers['cache-control'], 'no-cache')
  assert.equal((await app.inject({ url })).headers.etag, first.headers.etag)
})

test('who has the document is told so, in 304', async (t) => {
  const { app } = await openTestHttpApp(t)
  for (const encoding of ['identity', 'gzip', 'br']) {
    const headers = { 'accept-encoding': encoding }
    const { etag } = (await app.inject({ url, headers })).headers
    const again = await app.inject({ url, headers: { ...headers, 'if-none-match': String(etag) } })
    assert.equal(again.statusCode, 304)
    assert.equal(again.body, '')
    assert.equal(again.headers.etag, etag)
    const other = await app.inject({ url, headers: { ...headers, 'if-none-match': '"another"' } })
    assert.equal(other.statusCode, 200)
  }
})

test('the document is compressed for those who take it, under a tag of its own', async (t) => {
  const { app } = await openTestHttpApp(t)
  const plain = await app.inject({ url })
  const gzipped = await app.inject({ url, headers: { 'accept-encoding': 'gzip' } })
  const brotli = await app.inject({ url, headers: { 'accept-encoding': 'gzip, deflate, br' } })
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(gzipped.headers['content-encoding'], 'gzip')
  assert.equal(brotli.headers['content-encoding'], 'br')
  assert.equal(gunzipSync(gzipped.rawPayload).toString(), plain.body)
  assert.equal(brotliDecompressSync(brotli.rawPayload).toString(), plain.body)
  assert.ok(gzipped.rawPayload.length * 5 < plain.rawPayload.length)
  for (const { headers } of [plain, gzipped, brotli]) assert.equal(headers.vary, 'accept-encoding')
  assert.equal(new Set([plain, gzipped, brotli].map(({ headers }) => headers.etag)).size, 3)
  const head = await app.inject({ url, method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
  assert.equal(head.body, '')
  assert.equal(head.headers.etag, gzipped.headers.etag)
})

test('the encoding is one that the caller takes', () => {
  const cases: readonly (readonly [string | undefined, 'br' | 'gzip' | null])[] = [
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate', null],
    ['gzip', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['br, gzip', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['gzip;q=0, br;q=0', null],
    ['*', 'br'],
    ['*;q=0.1, br;q=0', 'gzip'],
    ['gzip;q=nonsense', null],
  ]
  for (const [header, expected] of cases) assert.equal(encodingFor(header), expected, String(header))
})
