import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { ApiError, createClient } from '../src/index.ts'
import { problem, sendJson, sendProblem, standIn } from './stand-in.ts'

test('against a stand-in: a session begins each connection of a stream with a ticket for exactly its address', async () => {
  const wanted: string[] = []
  const opened: string[] = []
  await using service = await standIn({
    http: (request, response, body) => {
      assert.equal(request.headers['x-csrf-token'], 'key')
      wanted.push((JSON.parse(body) as { path: string }).path)
      sendJson(response, 201, { ticket: `t${wanted.length}`, expiresAt: '2026-01-01T00:00:00.000Z' })
    },
    socket: (socket, request) => {
      opened.push(request.url ?? '')
      socket.send(JSON.stringify({ type: 'start', seq: 7 }))
      if (opened.length === 1) setTimeout(() => socket.close(1012), 50)
    },
  })
  const stop = new AbortController()
  await createClient({
    baseUrl: service.url,
    csrfToken: () => 'key',
    WebSocket: WebSocket as unknown as typeof globalThis.WebSocket,
  }).followEvents(
    {},
    {
      signal: stop.signal,
      onEvent: () => undefined,
      onState: (state) => state === 'live' && opened.length === 2 && stop.abort(),
    },
  )
  assert.deepEqual(wanted, ['/api/v1/events/ws', '/api/v1/events/ws?after=7'])
  assert.deepEqual(opened, ['/api/v1/events/ws?ticket=t1', '/api/v1/events/ws?after=7&ticket=t2'])
})

test('against a stand-in: a session that has ended begins no stream, and says so', async () => {
  let calls = 0
  await using service = await standIn({
    http: (_request, response) => sendProblem(response, problem(401, 'unauthorized')),
  })
  const client = createClient({ baseUrl: service.url, csrfToken: () => null, onUnauthorized: () => (calls += 1) })
  await assert.rejects(
    client.followEvents({}, { signal: AbortSignal.timeout(5000), onEvent: () => undefined }),
    (error) => error instanceof ApiError && error.status === 401,
  )
  assert.ok(calls > 0)
})

test('against a stand-in: a ticket that is never answered is asked for again', async () => {
  let asked = 0
  await using service = await standIn({
    http: (_request, response) => {
      asked += 1
      if (asked > 1) sendJson(response, 201, { ticket: 't', expiresAt: '2026-01-01T00:00:00.000Z' })
    },
    socket: (socket) => socket.send(JSON.stringify({ type: 'start', seq: 7 })),
  })
  const stop = new AbortController()
  const options = { baseUrl: service.url, csrfToken: () => 'key', openWithin: 200 }
  await createClient({ ...options, WebSocket: WebSocket as unknown as typeof globalThis.WebSocket }).followEvents(
    {},
    { signal: stop.signal, onEvent: () => undefined, onState: (state) => state === 'live' && stop.abort() },
  )
  assert.ok(asked > 1)
})

test('with a token an address needs no ticket', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', token: 'stq_x', csrfToken: () => 'key' })
  assert.equal(await client.ticketed('/events/ws'), '/events/ws')
})
