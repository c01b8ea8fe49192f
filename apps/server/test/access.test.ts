import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTokenValue, newTokenValue } from '../src/access/token-value.ts'
import { admin as housekeeper, openTestApp } from './app-support.ts'
import { auditOf, bearer, openTestHttpApp, password, setupCode, type TestHttpApp } from './http-support.ts'

const post = (http: TestHttpApp, path: string, payload: object, headers: Record<string, string> = {}) =>
  http.app.inject({ method: 'POST', url: `/api/v1${path}`, payload, headers })

test('the first administrator is made with the one-time code, is logged in by it, and is the only one made so', async (t) => {
  const http = await openTestHttpApp(t, { admin: false })
  const needs = async () => (await http.app.inject({ url: '/api/v1/setup' })).json().needsSetup
  assert.equal(await needs(), true)
  const wrong = await post(http, '/setup', { username: 'ada', password, code: 'guess' })
  assert.equal(wrong.json().code, 'setup_code_wrong')
  const made = await post(http, '/setup', { username: 'ada', password, code: setupCode })
  assert.equal(made.statusCode, 201, made.body)
  assert.equal(made.json().role, 'admin')
  const cookie = String(made.headers['set-cookie']).split(';')[0]!
  assert.equal(
    (
      await http.app.inject({ url: '/api/v1/auth/me', headers: { cookie, 'x-csrf-token': made.json().csrfToken } })
    ).json().user,
    'ada',
  )
  assert.equal(await needs(), false)
  assert.equal(
    (await post(http, '/setup', { username: 'eve', password, code: setupCode })).json().code,
    'already_set_up',
  )
  const [entry] = await auditOf(http.store, 'success', 1)
  assert.deepEqual([entry?.actor, entry?.action, entry?.target], ['ada', 'setup.complete', 'ada'])
  assert.ok(!JSON.stringify(await http.store.audit.list({ limit: 10 })).includes(password))
})

test('of two who set up at once one wins', async (t) => {
  const http = await openTestHttpApp(t, { admin: false })
  const answers = await Promise.all(
    ['ada', 'eve'].map((username) => post(http, '/setup', { username, password, code: setupCode })),
  )
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [201, 409])
  assert.equal(await http.store.users.count(), 1)
})

test('set-up codes cannot be tried without end, and who has the right one is not kept out by who tries', async (t) => {
  const http = await openTestHttpApp(t, { admin: false })
  const tryCode = (code: string) => post(http, '/setup', { username: 'ada', password, code })
  for (let turn = 0; turn < 5; turn++) await tryCode(`guess ${turn}`)
  assert.equal((await tryCode('guess 5')).json().code, 'throttled')
  assert.equal((await tryCode(setupCode)).statusCode, 201)
})

test('a login sets a cookie that scripts cannot read and that other sites do not send', async (t) => {
  const http = await openTestHttpApp(t)
  const answer = await post(http, '/auth/login', { username: 'ada', password })
  assert.equal(answer.statusCode, 200)
  const { csrfToken, ...me } = answer.json()
  assert.ok(csrfToken.length >= 32)
  assert.deepEqual([me.kind, me.user, me.role], ['session', 'ada', 'admin'])
  const line = String(answer.headers['set-cookie'])
  assert.match(line, /^stackquay_session_test=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/)
})

test('under TLS the cookie is Secure, as the base URL or a trusted proxy says', async (t) => {
  const cookieOf = async (http: TestHttpApp, headers: Record<string, string> = {}) =>
    String((await post(http, '/auth/login', { username: 'ada', password }, headers)).headers['set-cookie'])
  assert.match(
    await cookieOf(await openTestHttpApp(t, { settings: { baseUrl: 'https://quay.example.org' } })),
    /^__Host-stackquay_session_test=.*; Path=\/; .*; Secure$/,
  )
  const forwarded = { 'x-forwarded-proto': 'https' }
  assert.match(
    await cookieOf(await openTestHttpApp(t, { settings: { trustedProxies: ['127.0.0.0/8'] } }), forwarded),
    /^__Host-stackquay_session_test=.*; Path=\/; .*; Secure$/,
  )
  assert.doesNotMatch(await cookieOf(await openTestHttpApp(t), forwarded), /Secure/)
})

test('a wrong password and an unknown name are answered alike, and both are recorded', async (t) => {
  const http = await openTestHttpApp(t)
  const answers = [
    await post(http, '/auth/login', { username: 'ada', password: 'wrong password' }),
    await post(http, '/auth/login', { username: 'nobody', password: 'wrong password' }),
  ].map((answer) => ({ ...answer.json(), requestId: '' }))
  assert.equal(answers[0].code, 'login_failed')
  assert.deepEqual(answers[0], answers[1])
  const entries = await auditOf(http.store, 'denied', 2)
  assert.deepEqual(entries.map(({ action, target }) => `${action} ${target}`).sort(), [
    'auth.login ada',
    'auth.login nobody',
  ])
})

test('logging out ends the session for good', async (t) => {
  const http = await openTestHttpApp(t)
  const { headers } = await http.session('ada')
  const answer = await post(http, '/auth/logout', {}, headers)
  assert.equal(answer.statusCode, 204)
  assert.match(String(answer.headers['set-cookie']), /^stackquay_session_test=; .*Max-Age=0/)
  assert.equal((await http.app.inject({ url: '/api/v1/auth/me', headers })).statusCode, 401)
})

test('a session ends after twelve idle hours, is kept alive by use, and ends after seven days however much it is used', async (t) => {
  const http = await openTestHttpApp(t)
  const [idle, used] = [await http.session('ada'), await http.session('ada')]
  const works = async ({ headers }: { headers: Record<string, string> }) => {
    const { statusCode } = await http.app.inject({ url: '/api/v1/auth/me', headers })
    // The last use is written beside the answer.
    await http.store.transaction(async () => {})
    return statusCode === 200
  }
  const hours = (count: number) => {
    http.clock.time += count * 3_600_000
  }
  hours(11)
  assert.ok(await works(used))
  hours(2)
  assert.ok(!(await works(idle)))
  for (let passed = 13; passed < 168; passed += 11) {
    assert.ok(await works(used), `after ${passed} hours`)
    hours(11)
  }
  assert.ok(!(await works(used)), 'after seven days')
})

test('changing the password needs the present one and ends the other sessions', async (t) => {
  const http = await openTestHttpApp(t)
  const [mine, other] = [await http.session('ada'), await http.session('ada')]
  const wrong = await post(http, '/auth/password', { current: 'wrong', new: 'another good one' }, mine.headers)
  assert.equal(wrong.json().code, 'login_failed')
  const short = await post(http, '/auth/password', { current: password, new: 'short' }, mine.headers)
  assert.deepEqual(short.json().errors[0].pointer, '/new')
  assert.equal(
    (await post(http, '/auth/password', { current: password, new: 'another good one' }, mine.headers)).statusCode,
    204,
  )
  const alive = async ({ headers }: typeof mine) =>
    (await http.app.inject({ url: '/api/v1/auth/me', headers })).statusCode
  assert.deepEqual([await alive(mine), await alive(other)], [200, 401])
  assert.equal((await post(http, '/auth/login', { username: 'ada', password })).statusCode, 401)
  assert.equal((await post(http, '/auth/login', { username: 'ada', password: 'another good one' })).statusCode, 200)
})

test('a token is created, shown once, used, listed with its last use, and revoked', async (t) => {
  const http = await openTestHttpApp(t)
  const shop = await http.project('shop')
  const { headers } = await http.session('ada')
  const created = await post(http, '/tokens', { name: 'ci', projects: ['shop', shop.id] }, headers)
  assert.equal(created.statusCode, 201, created.body)
  const { value, ...view } = created.json()
  assert.ok(isTokenValue(value))
  assert.deepEqual(
    [view.name, view.scope, view.projects, view.prefix, view.lastUsedAt],
    ['ci', 'operate', [shop.id], value.slice(0, 8), null],
  )
  const me = (await http.app.inject({ url: '/api/v1/auth/me', headers: bearer(value) })).json()
  assert.deepEqual(me, { kind: 'token', name: 'ci', scope: 'operate', projects: [shop.id], user: 'ada' })

  const list = async () => (await http.app.inject({ url: '/api/v1/tokens', headers })).json()
  assert.ok(!JSON.stringify(await list()).includes(value))
  await http.authenticator.close()
  assert.equal((await list()).items[0].lastUsedAt, new Date(http.clock.time).toISOString())

  const revoke = () => http.app.inject({ method: 'DELETE', url: `/api/v1/tokens/${view.id}`, headers })
  assert.equal((await revoke()).statusCode, 204)
  assert.equal((await http.app.inject({ url: '/api/v1/auth/me', headers: bearer(value) })).statusCode, 401)
  assert.equal((await revoke()).statusCode, 404)
  const entries = await http.store.audit.list({ limit: 20 })
  assert.ok(
    ['token.create', 'token.revoke'].every((action) =>
      entries.some((entry) => entry.action === action && entry.actor === 'ada'),
    ),
  )
  assert.ok(!JSON.stringify(entries).includes(value))
})

test('a token that cannot be is refused with its reason', async (t) => {
  const http = await openTestHttpApp(t)
  await http.user('operate', 'otto')
  const { headers } = await http.session('otto')
  const create = async (body: object) => (await post(http, '/tokens', body, headers)).json()
  assert.equal((await create({ name: 'a' })).scope, 'operate')
  assert.equal((await create({ name: 'a' })).code, 'conflict')
  const tooHigh = await create({ name: 'b', scope: 'admin' })
  assert.deepEqual([tooHigh.code, tooHigh.role, tooHigh.requiredScope], ['role_insufficient', 'operate', 'admin'])
  const unknown = await create({ name: 'c', projects: ['nowhere'] })
  assert.deepEqual([unknown.code, unknown.errors[0].pointer], ['validation_failed', '/projects/0'])
  const past = await create({ name: 'd', expiresAt: '2020-01-01T00:00:00Z' })
  assert.equal(past.errors[0].pointer, '/expiresAt')
  assert.match((await create({ name: 'e', scop: 'read' })).errors[0].detail, /Did you mean "scope"\?/)
})

test('the list of tokens is read page by page, and shows nobody else’s', async (t) => {
  const http = await openTestHttpApp(t)
  const stranger = await http.user('admin', 'olga')
  await http.token({ owner: stranger.id, name: 'hers' })
  for (let index = 0; index < 5; index++) await http.token({ name: `t${index}` })
  const { headers } = await http.session('ada')
  const names: string[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`
    const page: { items: { name: string }[]; nextCursor: string | null } = (
      await http.app.inject({ url: `/api/v1/tokens?limit=2${query}`, headers })
    ).json()
    assert.ok(page.items.length <= 2)
    names.push(...page.items.map(({ name }) => name))
    cursor = page.nextCursor
  } while (cursor !== null)
  assert.deepEqual(names.sort(), ['t0', 't1', 't2', 't3', 't4'])
})

test('a token’s form finds every single typing error before the store is asked', () => {
  const value = newTokenValue()
  assert.ok(isTokenValue(value))
  for (let index = 0; index < value.length; index++) {
    const typo = value.slice(0, index) + (value[index] === 'a' ? 'b' : 'a') + value.slice(index + 1)
    assert.ok(!isTokenValue(typo), typo)
  }
  assert.equal(new Set(Array.from({ length: 1000 }, newTokenValue)).size, 1000)
})

test('the audit log is listed newest first, filtered and paged, and its chain holds', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  await http.session('ada')
  await post(http, '/auth/login', { username: 'ada', password: 'wrong' })
  const list = async (query: string) =>
    (await http.app.inject({ url: `/api/v1/audit${query}`, headers: bearer(value) })).json()
  const all = await list('')
  assert.ok(all.items.length >= 3)
  assert.ok(
    all.items.every((entry: { seq: number }, index: number) => index === 0 || entry.seq < all.items[index - 1].seq),
  )
  assert.deepEqual(
    (await list('?outcome=denied')).items.map(({ action }: { action: string }) => action),
    ['auth.login'],
  )
  const first = await list('?limit=1')
  const second = await list(`?limit=1&cursor=${first.nextCursor}`)
  assert.equal(second.items[0].seq, all.items[1].seq)
  assert.equal((await list('?cursor=abc')).code, 'invalid_request')
  const decision = (await http.app.inject({ url: '/api/v1/audit/verify', headers: bearer(value) })).json()
  assert.deepEqual([decision.ok, decision.entries, decision.firstBroken], [true, all.items.length, null])
})

test('the setting of trusted proxies holds for the service itself: who logs in is noted with his own address', async (t) => {
  for (const [trusted, ip] of [
    ['127.0.0.0/8', '203.0.113.9'],
    ['10.0.0.0/8', '127.0.0.1'],
  ] as const) {
    const { call, app } = await openTestApp(t, { env: { STACKQUAY_TRUSTED_PROXIES: trusted } })
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    assert.equal((await call('login', { body: housekeeper, headers })).status, 200)
    const [entry] = await app.store.audit.list({ limit: 1, action: 'auth.login' })
    assert.equal(entry?.ip, ip)
  }
})
