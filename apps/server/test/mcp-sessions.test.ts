import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import type { AuditEntry } from '@stackquay/contract'
import { createEventStore } from '../src/mcp/event-store.ts'
import { createSessions } from '../src/mcp/sessions.ts'
import { listen, tokenOf } from './mcp-support.ts'
import { openTestApp } from './projects-support.ts'

type Headers = Readonly<Record<string, string>>

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const toolsList = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

/** As any client sends it, and with what no client sends. */
function raw(url: string, token: string) {
  const send = (method: string, body?: unknown, headers: Headers = {}) =>
    fetch(`${url}/mcp`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return {
    send,
    begin: async () => {
      const answer = await send('POST', initialize)
      assert.equal(answer.status, 200, await answer.clone().text())
      await answer.text()
      const session = { 'mcp-session-id': answer.headers.get('mcp-session-id')!, 'mcp-protocol-version': '2025-11-25' }
      await send('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }, session)
      return session
    },
  }
}

test('a session belongs to its token, ends when it is told to, and its streams can be gone on with', async (t) => {
  const app = await openTestApp(t)
  const url = await listen(app)
  const { send, begin } = raw(url, (await tokenOf(app)).value)
  const session = await begin()
  const answer = await send('POST', toolsList, session)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  assert.equal(answer.headers.get('cache-control')?.includes('no-'), true)
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  const text = await answer.text()
  const ids = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id!)
  assert.equal(ids.length, 2, text.slice(0, 300))

  const again = await send('GET', undefined, { ...session, 'last-event-id': ids[0]! })
  const reader = again.body!.getReader()
  let replayed = ''
  while (!replayed.includes('"id":2')) {
    const { done, value } = await reader.read()
    assert.equal(done, false, `the stream ended: ${replayed.slice(0, 300)}`)
    replayed += Buffer.from(value!).toString('utf8')
  }
  assert.match(replayed, /list_projects/)
  await reader.cancel()
  assert.equal((await send('GET', undefined, { ...session, 'last-event-id': 'made up' })).status, 400)

  const other = raw(url, (await tokenOf(app)).value)
  assert.equal((await other.send('POST', toolsList, session)).status, 404, 'of another token')
  assert.equal((await send('POST', toolsList)).status, 400, 'neither a session nor a beginning')
  assert.equal((await send('DELETE', undefined, session)).status, 200)
  assert.equal((await send('POST', toolsList, session)).status, 404)
  assert.deepEqual(app.errors, [])
})

test('a token that is revoked ends its open streams within a second, and every further request', async (t) => {
  const app = await openTestApp(t)
  const url = await listen(app)
  const token = await tokenOf(app)
  const { send, begin } = raw(url, token.value)
  const session = await begin()
  const stream = await send('GET', undefined, session)
  assert.equal(stream.status, 200)
  const ended = stream.text()
  const at = performance.now()
  await app.store.transaction((tx) => tx.tokens.delete(token.id))
  assert.equal((await send('POST', toolsList, session)).status, 401)
  await ended
  assert.ok(performance.now() - at < 1000, `${performance.now() - at} ms`)
})

test('pages of other sites, strange names, sessions of browsers and strangers are refused, and that is recorded', async (t) => {
  const app = await openTestApp(t)
  const url = await listen(app)
  const { value } = await tokenOf(app)
  const { send } = raw(url, value)
  const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code

  const foreign = await send('POST', initialize, { origin: 'https://evil.example' })
  assert.deepEqual([foreign.status, await codeOf(foreign)], [403, 'csrf_failed'])
  assert.equal(await statusWithHost(url, value, 'rebound.example.com'), 403)
  assert.equal((await send('POST', initialize, { origin: url })).status, 200, 'our own page')
  const nobody = await fetch(`${url}/mcp`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.deepEqual([nobody.status, nobody.headers.get('www-authenticate')], [401, 'Bearer realm="stackquay"'])
  assert.equal((await send('POST', initialize, { authorization: `Bearer ${value.slice(0, -1)}_` })).status, 401)

  const login = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'ada', password: 'correct horse battery' }),
  })
  const { csrfToken } = (await login.json()) as { csrfToken: string }
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const session = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': csrfToken, origin: url, 'content-type': 'application/json' },
    body: JSON.stringify(initialize),
  })
  assert.equal(session.status, 401, 'the page has the page')

  const { items } = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=mcp.connect')).body
  const reasons = items.map(({ changes }) => (changes as { reason: string }).reason)
  assert.deepEqual([...new Set(reasons)].sort(), ['csrf_failed', 'unauthorized'])
  assert.ok(items.every(({ source, outcome }) => source === 'mcp' && outcome === 'denied'))
})

test('what is too large, no JSON or no message is refused, and nothing falls over', async (t) => {
  const app = await openTestApp(t)
  const url = await listen(app)
  const { send, begin } = raw(url, (await tokenOf(app)).value)
  const session = await begin()
  const call = (args: object) => ({
    jsonrpc: '2.0',
    id: 5,
    method: 'tools/call',
    params: { name: 'read_logs', arguments: args },
  })
  assert.equal((await send('POST', call({ q: 'x'.repeat(2 << 20) }), session)).status, 413)
  assert.equal((await send('POST', '{"jsonrpc":', session)).status, 400)
  assert.equal((await send('POST', '[]', session)).status, 400)
  assert.equal((await send('POST', { hello: 1 }, session)).status, 400)
  assert.equal((await send('POST', toolsList, { ...session, 'content-type': 'text/plain' })).status, 415)
  assert.equal((await send('POST', toolsList, { ...session, accept: 'text/html' })).status, 406)
  assert.equal((await send('PUT', toolsList, session)).status, 404)
  const strange = await (await send('POST', { ...toolsList, method: 'tools/explode' }, session)).text()
  assert.match(strange, /-32601/)
  const long = await (await send('POST', call({ project: 'x'.repeat(5000) }), session)).text()
  assert.match(long, /isError\\?":true/)
  assert.deepEqual(app.errors, [])
})

test('sessions have an end: those that are idle, and the oldest of who begins too many', () => {
  let now = 0
  const closed: string[] = []
  const sessions = createSessions(() => now)
  const add = (id: string, token: string) => {
    const transport = { close: async () => void closed.push(id) }
    sessions.add(id, { token, transport } as never)
  }
  for (let at = 0; at < 10; at++) {
    now = at
    add(`s${at}`, 'tok_a')
  }
  assert.notEqual(sessions.of('s0', 'tok_a'), null)
  assert.equal(sessions.of('s0', 'tok_b'), null)
  now = 11
  add('s10', 'tok_a')
  assert.deepEqual(closed, ['s1'], 's0 was used since')
  add('other', 'tok_b')
  assert.deepEqual(closed, ['s1'])
  sessions.close()
  assert.equal(closed.length, 11 + 1)
})

test('what is kept for who comes back is the newest, and of one stream', async () => {
  const events = createEventStore()
  const message = (id: number) => ({ jsonrpc: '2.0', id, result: { text: 'x'.repeat(10_000) } }) as never
  const first = await events.storeEvent('a', message(0))
  const ids: string[] = []
  for (let at = 1; at < 40; at++) ids.push(await events.storeEvent(at % 2 === 0 ? 'a' : 'b', message(at)))
  assert.equal(await events.getStreamIdForEventId!(first), undefined, 'too old')
  await assert.rejects(events.replayEventsAfter(first, { send: async () => undefined }), /no longer kept/)
  const sent: string[] = []
  assert.equal(await events.replayEventsAfter(ids.at(-5)!, { send: async (id) => void sent.push(id) }), 'b')
  assert.equal(sent.length, 2)
  assert.ok(sent.every((id) => id.startsWith('b_')))
})

function statusWithHost(url: string, token: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = request(`${url}/mcp`, { method: 'POST', headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode!)
    })
    sent.on('error', reject)
    sent.end('{}')
  })
}
