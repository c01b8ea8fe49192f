import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { openTestHttpApp, password, type TestHttpApp } from './http-support.ts'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
const next = 'a password never seen'

async function asAda(http: TestHttpApp) {
  const { headers } = await http.session('ada')
  return (method: Method, path: string, payload?: object) =>
    http.app.inject({ method, url: `/api/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
}

/** As a stranger with a link. */
const look = (http: TestHttpApp, code: string) => http.app.inject({ url: `/api/v1/invites/${code}` })
const redeem = (http: TestHttpApp, code: string, given = next) =>
  http.app.inject({ method: 'POST', url: `/api/v1/invites/${code}`, payload: { password: given } })
const login = (http: TestHttpApp, given: string) =>
  http.app.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username: 'grace', password: given } })

async function invited(http: TestHttpApp) {
  const call = await asAda(http)
  const user = (await call('POST', '/users', { username: 'grace', role: 'operate' })).json()
  const invite = async () => {
    const answer = await call('POST', `/users/${user.id}/invite`)
    assert.equal(answer.statusCode, 201, answer.body)
    const { url, kind, expiresAt } = answer.json()
    const [page, code] = url.split('#')
    assert.equal(page, 'http://127.0.0.1:8700/welcome')
    return { code: code as string, kind, expiresAt }
  }
  return { call, user, invite }
}

test('whoever is invited sets a password by the link, once, and logs in with it; a look uses nothing up', async (t) => {
  const http = await openTestHttpApp(t)
  const { call, user, invite } = await invited(http)
  assert.deepEqual([user.hasPassword, user.invitedUntil], [false, null])
  assert.equal((await login(http, '')).statusCode, 422)
  assert.equal((await login(http, 'none')).statusCode, 401)
  const { code, kind, expiresAt } = await invite()
  assert.deepEqual([kind, Date.parse(expiresAt) - http.clock.time], ['invitation', 48 * 3_600_000])
  assert.equal((await call('GET', `/users/${user.id}`)).json().invitedUntil, expiresAt)
  for (let index = 0; index < 3; index++)
    assert.deepEqual((await look(http, code)).json(), { kind: 'invitation', username: 'grace', expiresAt })
  assert.equal((await redeem(http, code, 'short')).statusCode, 422)
  assert.equal((await redeem(http, code)).statusCode, 204)
  assert.equal((await login(http, next)).statusCode, 200)
  assert.equal((await redeem(http, code, 'another one entirely')).statusCode, 404)
  const after = (await call('GET', `/users/${user.id}`)).json()
  assert.deepEqual([after.hasPassword, after.invitedUntil], [true, null])

  const entries = await http.store.audit.list({ limit: 50 })
  const done = entries.find(({ action, outcome }) => action === 'user.redeem_invite' && outcome === 'success')
  assert.deepEqual([done?.actor, done?.target, done?.changes], ['grace', 'grace', { kind: 'invitation' }])
  assert.ok(entries.some(({ action, outcome }) => action === 'user.redeem_invite' && outcome === 'denied'))
  // The code stands nowhere: not in the audit log, refusals included, and not in the database.
  const files = await Promise.all(['', '-wal'].map((end) => readFile(http.database + end)))
  for (const text of [JSON.stringify(entries), ...files.map(String)]) {
    assert.ok(!text.includes(code) && !text.includes(code.slice(0, 20)))
    assert.ok(!text.includes(next))
  }
})

test('a reset ends the sessions and devices of its person and nobody else’s; until it is used the old password holds', async (t) => {
  const http = await openTestHttpApp(t)
  const call = await asAda(http)
  const grace = await http.user('operate', 'grace')
  const { headers } = await http.session('grace')
  const { url, kind } = (await call('POST', `/users/${grace.id}/invite`)).json()
  assert.equal(kind, 'reset')
  assert.equal((await login(http, password)).statusCode, 200)
  assert.equal((await redeem(http, url.split('#')[1])).statusCode, 204)
  assert.equal((await http.app.inject({ url: '/api/v1/auth/me', headers })).statusCode, 401)
  assert.equal((await http.store.devices.of(grace.id)).length, 0)
  assert.equal((await call('GET', '/auth/me')).statusCode, 200)
  assert.deepEqual([(await login(http, password)).statusCode, (await login(http, next)).statusCode], [401, 200])
})

test('a link ends by a newer one, after 48 hours, by a disabling, a new password and a deletion, and all that refuse look alike', async (t) => {
  const http = await openTestHttpApp(t)
  const { call, user, invite } = await invited(http)
  const refused: string[] = []
  const isOver = async (code: string) => {
    for (const answer of [await look(http, code), await redeem(http, code)]) {
      assert.equal(answer.statusCode, 404, answer.body)
      const { requestId, instance, ...rest } = answer.json()
      refused.push(JSON.stringify(rest))
    }
    assert.equal((await login(http, next)).statusCode, 401)
    // The counters of strangers, not what this is about.
    http.clock.time += 3_600_000
  }
  const [first, second] = [(await invite()).code, (await invite()).code]
  await isOver(first)
  assert.equal((await look(http, second)).statusCode, 200)
  http.clock.time += 48 * 3_600_000
  await isOver(second)

  const again = await asAda(http)
  const make = async () => {
    const answer = await again('POST', `/users/${user.id}/invite`)
    return answer.json().url.split('#')[1] as string
  }
  const third = await make()
  await again('PATCH', `/users/${user.id}`, { disabled: true })
  assert.equal((await again('POST', `/users/${user.id}/invite`)).json().code, 'conflict')
  await isOver(third)
  await again('PATCH', `/users/${user.id}`, { disabled: false })
  await isOver(third)
  const fourth = await make()
  await again('PATCH', `/users/${user.id}`, { password })
  await isOver(fourth)
  const fifth = await make()
  await again('DELETE', `/users/${user.id}`)
  await isOver(fifth)
  await isOver('never-one')
  assert.equal(new Set(refused).size, 1, [...new Set(refused)].join('\n'))
  assert.equal(call.length, 3)
})

test('of two who come with one link at once one sets the password; of two links made at once one holds', async (t) => {
  const http = await openTestHttpApp(t)
  const { invite } = await invited(http)
  const links = await Promise.all([invite(), invite()])
  const open = await Promise.all(links.map(({ code }) => look(http, code)))
  assert.deepEqual(open.map(({ statusCode }) => statusCode).sort(), [200, 404])
  const { code } = links[open.findIndex(({ statusCode }) => statusCode === 200)]!
  const words = ['the first of the two', 'the second of the two']
  const answers = await Promise.all(words.map((word) => redeem(http, code, word)))
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [204, 404])
  const won = words[answers.findIndex(({ statusCode }) => statusCode === 204)]!
  const logins = await Promise.all(words.map((word) => login(http, word)))
  assert.deepEqual(
    logins.map(({ statusCode }) => statusCode),
    words.map((word) => (word === won ? 200 : 401)),
  )
})

test('guessing is throttled for its network, and whoever has a link comes in all the same', async (t) => {
  const http = await openTestHttpApp(t)
  const { invite } = await invited(http)
  const { code } = await invite()
  const statuses: number[] = []
  for (let index = 0; index < 8; index++) statuses.push((await redeem(http, `guess-${index}`)).statusCode)
  assert.deepEqual([statuses[0], statuses.at(-1)], [404, 429])
  assert.equal((await look(http, 'guess')).statusCode, 429)
  assert.equal((await look(http, code)).statusCode, 200)
  assert.equal((await redeem(http, code)).statusCode, 204)
})
