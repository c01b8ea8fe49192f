import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Operation, operationList, scopes } from '@stackquay/contract'
import { includes } from '@stackquay/domain/access'
import { auditOf, bearer, openTestHttpApp, type TestHttpApp, urlOf } from './http-support.ts'

describe('who may do what, over every operation', () => {
  const ended: (() => unknown)[] = []
  let http: TestHttpApp
  let own: { id: string }
  let other: { id: string }
  before(async () => {
    http = await openTestHttpApp({ after: (end) => ended.push(end as () => unknown) })
    own = await http.project('own')
    other = await http.project('other')
  })
  after(async () => {
    for (const end of ended) await end()
  })

  // Event streams answer without an end; their turn comes in the tests of streams.
  const closed = operationList.filter(({ access, stream }) => access.kind !== 'public' && stream !== 'sse')
  const ask = async (operation: Operation, headers: Record<string, string>, id = own.id) => {
    const answer = await http.app.inject({
      method: operation.method,
      url: urlOf(operation, { id, name: 'A', db: 'main' }),
      headers,
    })
    const problem = answer.headers['content-type'] === 'application/problem+json' ? answer.json() : null
    return { answer, problem, code: problem?.code as string | undefined }
  }

  test('without credentials each answers 401 with a challenge, and writes nothing to the audit log', async () => {
    for (const operation of closed) {
      const { answer, code } = await ask(operation, {})
      assert.equal(answer.statusCode, 401, operation.id)
      assert.equal(code, 'unauthorized')
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/)
    }
    assert.equal((await http.store.audit.list({ limit: 10, outcome: 'denied' })).length, 0)
  })

  for (const scope of scopes) {
    test(`a token of scope ${scope} passes exactly what its scope includes`, async () => {
      const { value } = await http.token({ scope })
      for (const operation of closed) {
        const { answer, problem, code } = await ask(operation, bearer(value))
        const { access } = operation
        if (access.kind !== 'public' && access.session) assert.equal(code, 'session_required', operation.id)
        else if (access.kind === 'scope' && !includes(scope, access.scope)) {
          assert.equal(answer.statusCode, 403)
          assert.equal(code, 'scope_insufficient', operation.id)
          assert.deepEqual([problem.tokenScope, problem.requiredScope], [scope, access.scope])
          assert.ok(
            problem.detail.includes(`scope ${scope}`) && problem.detail.includes(`scope ${access.scope}`),
            problem.detail,
          )
        } else assert.ok(![401, 403].includes(answer.statusCode), `${operation.id}: ${answer.body}`)
      }
    })
  }

  test('a restricted token is refused other projects alike, existing or not, by id and by slug', async () => {
    const { value } = await http.token({ projects: [own.id] })
    for (const operation of closed.filter(({ access }) => access.kind === 'scope' && access.project)) {
      for (const ref of [other.id, 'other', 'prj_none', 'nowhere']) {
        const { answer, problem } = await ask(operation, bearer(value), ref)
        assert.equal(answer.statusCode, 403, operation.id)
        assert.equal(problem.code, 'project_forbidden')
        assert.equal(problem.detail, `The token may not use the project "${ref}".`)
      }
    }
  })

  test('a restricted token enters its own project by id and by slug', async () => {
    const { value } = await http.token({ projects: [own.id] })
    for (const id of [own.id, 'own']) {
      const answer = await http.app.inject({ url: `/api/v1/projects/${id}`, headers: bearer(value) })
      assert.equal(answer.statusCode, 200, answer.body)
    }
  })

  test('the instance and creation are closed to a restricted token, whatever its scope; lists, catalogue and itself are open', async () => {
    const { value } = await http.token({ projects: [own.id] })
    const refused = closed.filter(
      ({ access }) => access.kind === 'scope' && (access.instance || access.unrestricted) && !access.session,
    )
    assert.ok(refused.length >= 5)
    for (const operation of refused)
      assert.equal((await ask(operation, bearer(value))).code, 'token_restricted', operation.id)
    for (const path of ['/projects', '/runtimes', '/services', '/auth/me', '/health', '/operations']) {
      const answer = await http.app.inject({ url: `/api/v1${path}`, headers: bearer(value) })
      assert.equal(answer.statusCode, 200, path)
    }
  })

  test('a session of a low role is told its role and the one it needs', async () => {
    await http.user('read', 'rita')
    const { headers } = await http.session('rita')
    const answer = await http.app.inject({ method: 'POST', url: '/api/v1/projects/own/start', headers })
    assert.equal(answer.statusCode, 403)
    const { code, detail } = answer.json()
    assert.deepEqual([code, detail], ['role_insufficient', 'Your role is read; this needs operate.'])
  })

  test('a refused change stands in the audit log with who, what, where and why', async () => {
    const { value } = await http.token({ scope: 'read', name: 'ci' })
    await http.app.inject({
      method: 'POST',
      url: '/api/v1/projects/own/stop',
      headers: { ...bearer(value), 'x-request-id': 'find-me' },
    })
    const entry = (await auditOf(http.store, 'denied', 1)).find(({ requestId }) => requestId === 'find-me')
    assert.ok(entry)
    assert.deepEqual(
      [entry.actor, entry.action, entry.target, entry.changes],
      ['ada (token: ci)', 'project.stop', 'own', { reason: 'scope_insufficient' }],
    )
  })
})

test('a bad bearer token never falls back to a good cookie', async (t) => {
  const http = await openTestHttpApp(t)
  const { cookie } = await http.session('ada')
  const { value } = await http.token()
  const typo = `${value.slice(0, -1)}${value.endsWith('a') ? 'b' : 'a'}`
  for (const authorization of [`Bearer ${typo}`, 'Bearer', 'Bearer x', `Basic ${btoa('a:b')}`, '']) {
    const answer = await http.app.inject({ url: '/api/v1/auth/me', headers: { cookie, authorization } })
    assert.equal(answer.statusCode, 401, authorization)
  }
})

test('revocation, expiry, demotion and disabling hold for the very next request', async (t) => {
  const http = await openTestHttpApp(t)
  const owner = await http.user('admin', 'owen')
  const me = (value: string) => http.app.inject({ url: '/api/v1/auth/me', headers: bearer(value) })

  const revoked = await http.token({ owner: owner.id })
  assert.equal((await me(revoked.value)).statusCode, 200)
  await http.store.transaction((tx) => tx.tokens.delete(revoked.id))
  assert.equal((await me(revoked.value)).statusCode, 401)

  const expiring = await http.token({ owner: owner.id, expiresAt: new Date(http.clock.time + 1000).toISOString() })
  assert.equal((await me(expiring.value)).statusCode, 200)
  http.clock.time += 1001
  assert.equal((await me(expiring.value)).statusCode, 401)

  const kept = await http.token({ owner: owner.id, name: 'kept' })
  await http.store.transaction((tx) => tx.users.update(owner.id, { role: 'read' }))
  assert.equal((await me(kept.value)).json().scope, 'read')
  const start = await http.app.inject({ method: 'POST', url: '/api/v1/projects/x/start', headers: bearer(kept.value) })
  assert.equal(start.json().code, 'scope_insufficient')
  assert.match(start.json().detail, /made with admin, but owen’s role is read now/)

  await http.store.transaction((tx) => tx.users.update(owner.id, { disabled: true }))
  assert.equal((await me(kept.value)).statusCode, 401)
})

test('a changing request with a session needs both its halves and may not come from another site', async (t) => {
  const http = await openTestHttpApp(t, { settings: { trustedOrigins: ['http://localhost:5173'] } })
  const { cookie, csrfToken } = await http.session('ada')
  const stop = async (headers: Record<string, string>) =>
    (
      await http.app.inject({
        method: 'POST',
        url: '/api/v1/projects/x/stop',
        headers: { host: 'localhost:8700', cookie, ...headers },
      })
    ).statusCode
  const right = { 'x-csrf-token': csrfToken }
  assert.equal(await stop({}), 401)
  assert.equal(await stop({ 'x-csrf-token': 'wrong' }), 401)
  assert.equal(await stop(right), 200)
  assert.equal(await stop({ ...right, origin: 'http://localhost:8700' }), 200)
  assert.equal(await stop({ ...right, origin: 'http://localhost:5173' }), 200)
  assert.equal(await stop({ ...right, origin: 'http://localhost:9999' }), 403)
  assert.equal(await stop({ ...right, origin: 'null' }), 403)
  assert.equal(await stop({ ...right, 'sec-fetch-site': 'same-origin' }), 200)
  assert.equal(await stop({ ...right, 'sec-fetch-site': 'same-site' }), 403)
  assert.equal(await stop({ ...right, 'sec-fetch-site': 'cross-site' }), 403)
})

test('a bearer request needs neither a CSRF token nor our own origin', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const headers = { ...bearer(value), origin: 'https://ci.example', host: 'quay.example.com' }
  assert.equal((await http.app.inject({ method: 'POST', url: '/api/v1/projects/x/stop', headers })).statusCode, 200)
})

test('a page of another site cannot log anybody in', async (t) => {
  const http = await openTestHttpApp(t)
  const answer = await http.app.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    headers: { origin: 'https://evil.example', host: 'localhost:8700' },
    payload: { username: 'ada', password: 'correct horse battery' },
  })
  assert.equal(answer.json().code, 'csrf_failed')
})

test('names that public DNS could point at this machine are refused, except to bearer tokens and the health check', async (t) => {
  const http = await openTestHttpApp(t, { settings: { baseUrl: 'https://quay.example.org' } })
  const ask = async (host: string, path = '/setup') =>
    (await http.app.inject({ url: `/api/v1${path}`, headers: { host } })).statusCode
  for (const host of [
    'localhost:8700',
    'a.localhost',
    '127.0.0.1:8700',
    '[::1]:8700',
    '192.168.1.5',
    'nas',
    'nas.local',
    'quay.example.org',
  ]) {
    assert.equal(await ask(host), 200, host)
  }
  assert.equal(await ask('evil.example.com:8700'), 403)
  assert.equal(await ask('evil.example.com:8700', '/health'), 200)
})
