import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ApiError, ConnectionError, createClient } from '../src/index.ts'
import { problem, sendJson, sendProblem, standIn } from './stand-in.ts'

test('against a stand-in: parameters, query, body and headers arrive as the contract says', async () => {
  const seen: unknown[] = []
  await using service = await standIn({
    http: (request, response, body) => {
      seen.push([request.method, request.url, body === '' ? null : JSON.parse(body), request.headers])
      sendJson(response, 202, { id: 'op_1' })
    },
  })
  const client = createClient({
    baseUrl: `${service.url}/`,
    token: 'stq_x',
    clientName: 'cli',
    userAgent: 'stq/1',
    csrfToken: () => 'c',
  })
  await client.call(
    'startProject',
    { params: { id: 'a/b?c#d ü' }, query: { wait: 30, dryRun: undefined }, body: { workload: 'web' } },
    { ifMatch: '"7"', idempotencyKey: 'k' },
  )
  const [method, url, body, headers] = seen[0] as [string, string, unknown, Record<string, string>]
  assert.deepEqual(
    [method, url, body],
    ['POST', '/api/v1/projects/a%2Fb%3Fc%23d%20%C3%BC/start?wait=30', { workload: 'web' }],
  )
  assert.equal(headers.authorization, 'Bearer stq_x')
  assert.equal(headers['x-stackquay-client'], 'cli')
  assert.equal(headers['user-agent'], 'stq/1')
  assert.equal(headers['x-csrf-token'], 'c')
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['if-match'], '"7"')
  assert.equal(headers['idempotency-key'], 'k')
})

test('against a stand-in: a read sends the session’s key too, and neither body nor empty query', async () => {
  let url = ''
  let headers: NodeJS.Dict<string | string[]> = {}
  await using service = await standIn({
    http: (request, response) => {
      url = request.url!
      headers = request.headers
      sendJson(response, 200, { items: [], nextCursor: null })
    },
  })
  await createClient({ baseUrl: service.url, csrfToken: () => 'c' }).call('listProjects', { query: { q: undefined } })
  assert.equal(url, '/api/v1/projects')
  assert.equal(headers['x-csrf-token'], 'c')
  assert.equal(headers['content-type'], undefined)
  assert.equal(headers.authorization, undefined)
})

test('a parameter that is missing or would climb up the path is refused before anything is sent', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1' })
  await assert.rejects(client.call('getProject', { params: { id: '..' } }), TypeError)
  await assert.rejects(client.call('getProject'), /needs the parameter "id"/)
})

test('against a stand-in: a problem becomes an ApiError with its status, code, field errors and headers', async () => {
  await using service = await standIn({
    http: (_request, response) =>
      sendProblem(
        response,
        problem(422, 'validation_failed', { errors: [{ pointer: '/name', code: 'too_short', detail: 'is empty' }] }),
        {
          'x-request-id': 'r1',
        },
      ),
  })
  const error = await createClient({ baseUrl: service.url })
    .call('createProject', { body: { name: '' } })
    .catch((caught) => caught)
  assert.ok(error instanceof ApiError)
  assert.equal(error.status, 422)
  assert.equal(error.problem.code, 'validation_failed')
  assert.equal(error.problem.errors?.[0]?.pointer, '/name')
  assert.equal(error.headers.get('x-request-id'), 'r1')
})

test('against a stand-in: 204 answers undefined, and an ETag comes with callFull', async () => {
  await using service = await standIn({
    http: (request, response) =>
      request.method === 'POST'
        ? response.writeHead(204).end()
        : sendJson(response, 200, { id: 'prj_1' }, { etag: '"3"' }),
  })
  const client = createClient({ baseUrl: service.url })
  assert.equal(await client.call('logout'), undefined)
  const answer = await client.callFull('getProject', { params: { id: 'shop' } })
  assert.equal(answer.etag, '"3"')
  assert.equal(answer.data.id, 'prj_1')
})

test('against a stand-in: a 401 tells the owner of the client, then throws', async () => {
  let calls = 0
  await using service = await standIn({
    http: (_request, response) => sendProblem(response, problem(401, 'unauthorized')),
  })
  const client = createClient({ baseUrl: service.url, onUnauthorized: () => calls++ })
  await assert.rejects(client.call('getMe'), ApiError)
  assert.equal(calls, 1)
})

test('against a stand-in: a page of HTML from a reverse proxy becomes a problem that says so', async () => {
  await using service = await standIn({
    http: (_request, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
  })
  const error = await createClient({ baseUrl: service.url })
    .call('listProjects')
    .catch((caught) => caught)
  assert.ok(error instanceof ApiError)
  assert.equal(error.problem.code, 'unavailable')
  assert.equal(error.problem.detail, 'Bad gateway')
  assert.match(error.problem.hint, /text\/html/)
})

test('against a stand-in: success without JSON means that something else lives at the URL', async () => {
  await using service = await standIn({
    http: (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>'),
  })
  const error = await createClient({ baseUrl: service.url })
    .call('listProjects')
    .catch((caught) => caught)
  assert.ok(error instanceof ConnectionError)
  assert.match(error.message, /is not Stackquay.*text\/html.*Check the URL/)
})

test('against a stand-in: health that says unavailable with 503 is a result', async () => {
  await using service = await standIn({
    http: (_request, response) => sendJson(response, 503, { status: 'unavailable' }),
  })
  const health = await createClient({ baseUrl: service.url }).call('getHealth')
  assert.equal(health.status, 'unavailable')
})

test('against a stand-in: while the service starts, a read is repeated and an unkeyed change is not', async () => {
  let asked = 0
  await using service = await standIn({
    http: (_request, response) =>
      ++asked % 3 === 0 ? sendJson(response, 200, { items: [] }) : sendProblem(response, problem(503, 'unavailable')),
  })
  const client = createClient({ baseUrl: service.url })
  assert.deepEqual(await client.call('listProjects'), { items: [] })
  assert.equal(asked, 3)
  await assert.rejects(client.call('createProject', { body: { name: 'a' } }), ApiError)
  assert.equal(asked, 4)
  await client.call('createProject', { body: { name: 'a' } }, { idempotencyKey: 'k' })
  assert.equal(asked, 6)
})

test('against a stand-in: patience ends, and the 503 is thrown', async () => {
  await using service = await standIn({
    http: (_request, response) => sendProblem(response, problem(503, 'unavailable')),
  })
  const client = createClient({ baseUrl: service.url, patience: 300 })
  await assert.rejects(client.call('listProjects'), (error) => error instanceof ApiError && error.status === 503)
})

test('nobody listening becomes a ConnectionError that names the URL and what to do', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((resolve) => server.close(resolve))
  const error = await createClient({ baseUrl })
    .call('listProjects')
    .catch((caught) => caught)
  assert.ok(error instanceof ConnectionError)
  assert.equal(
    error.message,
    `Stackquay does not answer at ${baseUrl} (ECONNREFUSED). Is it running? Start it with: npm start`,
  )
  assert.equal(error.problem.retryable, true)
})

test('against a stand-in: an aborted call throws the reason of its signal', async () => {
  await using service = await standIn({ http: () => {} })
  const stop = new AbortController()
  const reason = new Error('enough')
  setTimeout(() => stop.abort(reason), 50)
  await assert.rejects(createClient({ baseUrl: service.url }).call('listProjects', {}, { signal: stop.signal }), reason)
})

test('against a stand-in: a plan is the same request with dryRun', async () => {
  let url = ''
  await using service = await standIn({
    http: (request, response) => {
      url = request.url!
      sendJson(response, 200, { plan: { steps: [], warnings: [] } })
    },
  })
  const { plan } = await createClient({ baseUrl: service.url }).plan('stopProject', {
    params: { id: 'shop' },
    query: { wait: 5 },
  })
  assert.deepEqual(plan.steps, [])
  assert.equal(url, '/api/v1/projects/shop/stop?wait=5&dryRun=true')
})
