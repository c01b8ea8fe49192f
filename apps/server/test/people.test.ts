import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearer, openTestHttpApp, password, type TestHttpApp } from './http-support.ts'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Calls with ada's session. */
async function asAda(http: TestHttpApp) {
  const { headers } = await http.session('ada')
  return (method: Method, path: string, payload?: object) =>
    http.app.inject({ method, url: `/api/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
}

const meWith = (http: TestHttpApp, headers: Record<string, string>) =>
  http.app.inject({ url: '/api/v1/auth/me', headers }).then(({ statusCode }) => statusCode)

test('a user is made, listed by name, read, and logs in with the given password and role', async (t) => {
  const http = await openTestHttpApp(t)
  const call = await asAda(http)
  const made = await call('POST', '/users', { username: 'grace', role: 'operate', password })
  assert.equal(made.statusCode, 201, made.body)
  const { id, createdAt, ...rest } = made.json()
  assert.deepEqual(rest, {
    ...{ username: 'grace', role: 'operate', projects: [], projectRoles: [] },
    ...{ hasPassword: true, invitedUntil: null, disabled: false },
  })
  assert.deepEqual((await call('GET', `/users/${id}`)).json(), made.json())
  const first = (await call('GET', '/users?limit=1')).json()
  assert.deepEqual([first.items[0].username, first.items.length], ['ada', 1])
  const second = (await call('GET', `/users?limit=1&cursor=${first.nextCursor}`)).json()
  assert.deepEqual([second.items[0].username, second.nextCursor], ['grace', null])
  const { headers } = await http.session('grace')
  assert.equal((await http.app.inject({ url: '/api/v1/auth/me', headers })).json().role, 'operate')
  const taken = await call('POST', '/users', { username: 'grace', role: 'read', password })
  assert.deepEqual([taken.statusCode, taken.json().code], [409, 'conflict'])
  assert.equal((await call('GET', '/users/usr_none')).statusCode, 404)
  assert.ok(!JSON.stringify(await http.store.audit.list({ limit: 50 })).includes(password))
})

test('a lower role and a disabling hold for the very next request, of tokens too; an enabling gives the tokens back', async (t) => {
  const http = await openTestHttpApp(t)
  const call = await asAda(http)
  const grace = await http.user('admin', 'grace')
  const token = await http.token({ owner: grace.id })
  const { headers } = await http.session('grace')
  const scope = async () =>
    (await http.app.inject({ url: '/api/v1/auth/me', headers: bearer(token.value) })).json().scope

  assert.equal((await call('PATCH', `/users/${grace.id}`, { role: 'read' })).json().role, 'read')
  assert.equal(await scope(), 'read')
  assert.equal((await http.app.inject({ url: '/api/v1/users', headers })).json().code, 'role_insufficient')

  assert.equal((await call('PATCH', `/users/${grace.id}`, { disabled: true })).json().disabled, true)
  assert.deepEqual([await meWith(http, headers), await meWith(http, bearer(token.value))], [401, 401])
  await call('PATCH', `/users/${grace.id}`, { disabled: false })
  assert.deepEqual([await meWith(http, headers), await meWith(http, bearer(token.value))], [401, 200])
  const [entry] = await http.store.audit.list({ limit: 1, action: 'user.change' })
  assert.deepEqual(entry?.changes, {
    before: { role: 'read', disabled: true },
    after: { role: 'read', disabled: false },
  })
})

test('a new password ends the user’s sessions, keeps the tokens, and stands nowhere', async (t) => {
  const http = await openTestHttpApp(t)
  const call = await asAda(http)
  const grace = await http.user('read', 'grace')
  const token = await http.token({ owner: grace.id })
  const { headers } = await http.session('grace')
  const next = 'a password never seen'
  assert.equal((await call('PATCH', `/users/${grace.id}`, { password: next })).statusCode, 200)
  assert.deepEqual([await meWith(http, headers), await meWith(http, bearer(token.value))], [401, 200])
  const login = (given: string) =>
    http.app.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username: 'grace', password: given } })
  assert.equal((await login(password)).statusCode, 401)
  assert.equal((await login(next)).statusCode, 200)
  assert.ok(!JSON.stringify(await http.store.audit.list({ limit: 50 })).includes(next))
})

test('a deletion takes tokens and sessions along', async (t) => {
  const http = await openTestHttpApp(t)
  const call = await asAda(http)
  const grace = await http.user('admin', 'grace')
  const token = await http.token({ owner: grace.id, name: 'ci' })
  const { headers } = await http.session('grace')
  assert.equal((await call('DELETE', `/users/${grace.id}`)).statusCode, 204)
  assert.deepEqual([await meWith(http, headers), await meWith(http, bearer(token.value))], [401, 401])
  assert.equal((await call('DELETE', `/users/${grace.id}`)).statusCode, 404)
  const [entry] = await http.store.audit.list({ limit: 1, action: 'user.delete' })
  assert.deepEqual(entry?.changes, { before: { username: 'grace', role: 'admin', disabled: false, tokens: ['ci'] } })
})

test('the last enabled administrator cannot be demoted, disabled or deleted, also not by two at once', async (t) => {
  const http = await openTestHttpApp(t)
  const call = await asAda(http)
  const ada = (await http.store.users.byName('ada'))!
  for (const attempt of [
    () => call('PATCH', `/users/${ada.id}`, { role: 'operate' }),
    () => call('PATCH', `/users/${ada.id}`, { disabled: true }),
    () => call('DELETE', `/users/${ada.id}`),
  ]) {
    const refused = await attempt()
    assert.deepEqual([refused.statusCode, refused.json().code], [409, 'last_admin'])
  }
  // A disabled administrator does not count.
  const grace = await http.user('admin', 'grace')
  await call('PATCH', `/users/${grace.id}`, { disabled: true })
  assert.equal((await call('DELETE', `/users/${ada.id}`)).json().code, 'last_admin')
  await call('PATCH', `/users/${grace.id}`, { disabled: false })
  const both = await Promise.all([
    call('PATCH', `/users/${ada.id}`, { role: 'read' }),
    call('PATCH', `/users/${grace.id}`, { role: 'read' }),
  ])
  assert.deepEqual(both.map(({ statusCode }) => statusCode).sort(), [200, 409])
  const admins = (await http.store.users.list()).filter(({ role, disabled }) => role === 'admin' && !disabled)
  assert.equal(admins.length, 1)
})

test('own sessions are listed with the present one marked; one or all others are ended at once', async (t) => {
  const http = await openTestHttpApp(t)
  await http.user('admin', 'grace')
  const ofGrace = await http.session('grace')
  const [one, two, three] = [await http.session('ada'), await http.session('ada'), await http.session('ada')]
  const list = async () =>
    (await http.app.inject({ url: '/api/v1/auth/sessions', headers: one.headers })).json().items as {
      id: string
      current: boolean
    }[]
  assert.deepEqual((await list()).map(({ current }) => current).sort(), [false, false, true])
  assert.ok(!JSON.stringify(await list()).includes(one.csrfToken))

  const second = (await http.app.inject({ url: '/api/v1/auth/sessions', headers: two.headers }))
    .json()
    .items.find(({ current }: { current: boolean }) => current).id
  const end = (path: string) =>
    http.app.inject({ method: 'DELETE', url: `/api/v1/auth/sessions${path}`, headers: one.headers })
  assert.equal((await end(`/${second}`)).statusCode, 204)
  assert.deepEqual([await meWith(http, two.headers), await meWith(http, three.headers)], [401, 200])
  const others = await http.store.sessions.of((await http.store.users.byName('grace'))!.id)
  assert.equal((await end(`/${others[0]?.id}`)).statusCode, 404)
  assert.deepEqual((await end('')).json(), { ended: 1 })
  assert.deepEqual(
    await Promise.all([one, two, three, ofGrace].map(({ headers }) => meWith(http, headers))),
    [200, 401, 401, 200],
  )
})
