import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProblemError } from '@stackquay/contract'
import { bearer, openTestHttpApp } from './http-support.ts'

const url = '/api/v1/projects/x/start'
const key = (value: string, name = 'key-1') => ({ ...bearer(value), 'idempotency-key': name })

test('the same key and body give the stored answer and do the work once', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const send = () => http.app.inject({ method: 'POST', url, headers: key(value), payload: { workload: 'node' } })
  const [first, second] = [await send(), await send()]
  assert.equal(first.headers['idempotency-replayed'], undefined)
  assert.equal(second.headers['idempotency-replayed'], 'true')
  assert.deepEqual(
    [second.statusCode, second.body, second.headers['content-type']],
    [first.statusCode, first.body, first.headers['content-type']],
  )
  assert.equal(http.calls.length, 1)
})

test('another body, query or path under the same key is refused', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const send = (to: string, payload: object) =>
    http.app.inject({ method: 'POST', url: to, headers: key(value), payload })
  await send(url, {})
  for (const [to, payload] of [
    [url, { workload: 'node' }],
    [`${url}?wait=1`, {}],
    ['/api/v1/projects/y/start', {}],
  ] as const) {
    assert.equal((await send(to, payload)).json().code, 'idempotency_mismatch')
  }
  assert.equal(http.calls.length, 1)
})

test('keys of two callers have nothing to do with each other', async (t) => {
  const http = await openTestHttpApp(t)
  const [one, other] = [await http.token(), await http.token()]
  for (const { value } of [one, other]) await http.app.inject({ method: 'POST', url, headers: key(value), payload: {} })
  assert.equal(http.calls.length, 2)
})

test('while the first request runs, a second one is told to wait', async (t) => {
  const gate = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const http = await openTestHttpApp(t, {
    handlers: {
      startProject: async () => {
        started.resolve()
        await gate.promise
        return { status: 202, body: { id: 'op_1' } }
      },
    },
  })
  const { value } = await http.token()
  const send = () => http.app.inject({ method: 'POST', url, headers: key(value) })
  const first = send()
  await started.promise
  const second = await send()
  assert.equal(second.json().code, 'idempotency_in_progress')
  gate.resolve()
  assert.equal((await first).statusCode, 202)
  assert.equal((await send()).headers['idempotency-replayed'], 'true')
})

test('a refusal that waiting does not mend is stored; one that it does, and a failure of the service, free the key', async (t) => {
  let turn = 0
  const thrown = [new Error('disk on fire'), new ProblemError('busy', 'Wait.'), new ProblemError('conflict', 'Taken.')]
  const http = await openTestHttpApp(t, {
    handlers: {
      startProject: async () => {
        throw thrown[turn++] ?? new Error('called too often')
      },
    },
  })
  const { value } = await http.token()
  const send = () => http.app.inject({ method: 'POST', url, headers: key(value) })
  const answers = [await send(), await send(), await send(), await send()]
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [500, 409, 409, 409],
  )
  assert.deepEqual(
    answers.map((answer) => answer.json().code),
    ['internal_error', 'busy', 'conflict', 'conflict'],
  )
  assert.equal(answers[3]?.headers['idempotency-replayed'], 'true')
  assert.equal(answers[3]?.headers['content-type'], 'application/problem+json')
})

test('a request that died with an earlier process is done again under its key', async (t) => {
  const http = await openTestHttpApp(t)
  const { id, value } = await http.token()
  const send = () => http.app.inject({ method: 'POST', url, headers: key(value), payload: {} })
  await send()
  const row = await http.store.idempotency.find(id, 'key-1')
  assert.ok(row)
  await http.store.transaction(async (tx) => {
    await tx.idempotency.forget(id, 'key-1')
    await tx.idempotency.reserve(id, 'key-1', row.fingerprint)
  })
  assert.equal((await send()).statusCode, 200)
  assert.equal(http.calls.length, 2)
  assert.equal((await send()).headers['idempotency-replayed'], 'true')
})

test('keys are kept for a day', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const send = (name: string) => http.app.inject({ method: 'POST', url, headers: key(value, name), payload: {} })
  await send('old')
  http.clock.time += 23 * 3_600_000
  await send('young')
  assert.equal((await send('old')).headers['idempotency-replayed'], 'true')
  http.clock.time += 2 * 3_600_000
  await send('another')
  assert.equal((await send('old')).headers['idempotency-replayed'], undefined)
  assert.equal((await send('young')).headers['idempotency-replayed'], 'true')
})

test('no secret of a body or of an answer is stored with a key', async (t) => {
  const http = await openTestHttpApp(t)
  const { headers } = await http.session('ada')
  const create = () =>
    http.app.inject({
      method: 'POST',
      url: '/api/v1/tokens',
      headers: { ...headers, 'idempotency-key': 'k' },
      payload: { name: 'ci' },
    })
  assert.equal((await create()).statusCode, 201)
  assert.equal((await create()).json().code, 'conflict')
  const owner = (await http.store.users.byName('ada'))!
  assert.equal(await http.store.idempotency.find(owner.id, 'k'), null)
})

test('a key that is no key is refused', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  for (const name of ['', 'a b', 'x'.repeat(256)]) {
    const answer = await http.app.inject({ method: 'POST', url, headers: key(value, name) })
    assert.equal(answer.statusCode, 400, JSON.stringify(name))
  }
})
