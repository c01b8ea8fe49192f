import assert from 'node:assert/strict'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Problem, ProxyRules } from '@stackquay/contract'
import { passwordHolds } from '../src/access/passwords.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

const path = '/projects/shop/proxy-rules'

async function shop(app: TestApp): Promise<string> {
  const made = await app.ask('POST', '/projects?wait=30', { name: 'Shop', node: {}, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.id
}

const put = (app: TestApp, body: object, headers: Record<string, string> = {}) =>
  app.ask<ProxyRules & Problem>('PUT', path, body, headers)

test('PUT replaces all rules; what is absent is off', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const none = await app.ask<ProxyRules>('GET', path)
  assert.deepEqual(none.body, {
    signIn: false,
    allowIps: [],
    basicAuth: null,
    redirects: [],
    requestHeaders: [],
    responseHeaders: [],
    cors: null,
  })
  const first = await put(app, {
    allowIps: ['192.0.2.1', '2001:DB8::/32', '192.0.2.1'],
    redirects: [{ from: '/old/*', to: '/new/*' }],
    requestHeaders: [{ name: 'X-From', value: 'proxy' }],
    responseHeaders: [{ name: 'Server', value: null }],
    cors: { origins: ['https://app.example.org'] },
  })
  assert.equal(first.status, 200, JSON.stringify(first.body))
  assert.deepEqual(first.body.redirects, [{ from: '/old/*', host: null, to: '/new/*', status: 308 }])
  assert.equal(first.body.allowIps.length, 2, 'each block once')
  assert.equal(first.body.cors?.credentials, false)
  const second = await put(app, { redirects: [{ from: '/a', to: '/b', status: 302 }] })
  assert.deepEqual(second.body, { ...none.body, redirects: [{ from: '/a', host: null, to: '/b', status: 302 }] })
  assert.deepEqual((await app.ask('GET', path)).body, second.body)
})

test('a change made upon an old reading is refused by its ETag, and of two at the same moment one is', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const { headers } = await app.ask('GET', path)
  const etag = String(headers.etag)
  const race = await Promise.all([
    put(app, { allowIps: ['192.0.2.1'] }, { 'if-match': etag }),
    put(app, { allowIps: ['192.0.2.2'] }, { 'if-match': etag }),
  ])
  assert.deepEqual(race.map(({ status }) => status).sort(), [200, 412])
  const stale = await put(app, {}, { 'if-match': etag })
  assert.equal(stale.body.code, 'precondition_failed')
  const won = race.find(({ status }) => status === 200)!
  assert.notEqual(won.headers.etag, etag)
  assert.equal((await put(app, {}, { 'if-match': String(won.headers.etag) })).status, 200)
  assert.equal((await put(app, {}, { 'if-match': '*' })).status, 200)
})

test('a password is kept as its hash: never answered, recorded, or told as an event', async (t) => {
  const app = await openTestApp(t)
  const id = await shop(app)
  const password = 'a walrus in the bath'
  const answers: unknown[] = []
  const sent = await put(app, { basicAuth: { username: 'guest', password } })
  assert.equal(sent.status, 200, JSON.stringify(sent.body))
  assert.deepEqual(sent.body.basicAuth, { username: 'guest' })
  answers.push(sent.body, (await app.ask('GET', path)).body)
  const kept = (await app.store.network.rules(id))!.rules.basicAuth!
  assert.match(kept.passwordHash, /^\$argon2id\$/)
  assert.ok(await passwordHolds(password, kept.passwordHash))

  const same = await put(app, { basicAuth: { username: 'guest' }, allowIps: ['192.0.2.0/24'] })
  assert.deepEqual(same.body.basicAuth, { username: 'guest' })
  assert.deepEqual((await app.store.network.rules(id))!.rules.basicAuth, kept, 'the one that is set stays')
  const other = await put(app, { basicAuth: { username: 'somebody' } })
  assert.equal(other.status, 422)
  assert.equal(other.body.errors?.[0]?.pointer, '/basicAuth/password')
  assert.deepEqual((await app.store.network.rules(id))!.rules.basicAuth, kept)

  answers.push((await app.ask('GET', '/projects/shop')).body, (await app.ask('GET', '/projects')).body)
  answers.push(await app.store.audit.list({ limit: 100 }), await app.store.events.after(0, 1000), app.errors)
  const text = JSON.stringify(answers)
  assert.ok(!text.includes(password))
  assert.ok(!text.includes('$argon2'))
  assert.ok(text.includes('[secret]'), 'that there is a new one is recorded')

  await put(app, {})
  const without = await put(app, { basicAuth: { username: 'guest' } })
  assert.equal(without.status, 422, 'one that was taken away does not come back')
})

test('everything that is wrong is said at once, each at its place, and nothing is changed', async (t) => {
  const app = await openTestApp(t)
  const id = await shop(app)
  const refused = await put(app, {
    allowIps: ['192.0.2.1', '300.1.1.1', '10.0.0.0/40'],
    redirects: [
      { from: 'old', to: '/new' },
      { from: '/a', to: 'javascript:alert(1)' },
    ],
    requestHeaders: [
      { name: 'Transfer-Encoding', value: 'chunked' },
      { name: 'X-A', value: 'b\r\nX-Evil: 1' },
    ],
    responseHeaders: [{ name: 'a b', value: 'c' }],
    cors: { origins: ['*', 'https://app.example.org'] },
  })
  assert.equal(refused.status, 422)
  const pointers = refused.body.errors?.map(({ pointer }) => pointer) ?? []
  for (const pointer of [
    '/allowIps/1',
    '/allowIps/2',
    '/redirects/0/from',
    '/redirects/1/to',
    '/requestHeaders/0/name',
    '/requestHeaders/1/value',
    '/responseHeaders/0/name',
  ])
    assert.ok(pointers.includes(pointer), `${pointer} in ${pointers.join(' ')}`)
  assert.ok(
    pointers.some((pointer) => pointer.startsWith('/cors')),
    pointers.join(' '),
  )
  assert.equal(await app.store.network.rules(id), null)
})

test('a redirect that leads back to where it came from is refused', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const refused = await put(app, {
    redirects: [
      { from: '/a', to: '/b' },
      { from: '/b', to: 'http://shop.localhost/a' },
    ],
  })
  assert.equal(refused.status, 422, JSON.stringify(refused.body))
  assert.equal(refused.body.errors?.[0]?.code, 'redirect_loop')
})

test('rules are set by administrators alone, and each change is recorded with what was before', async (t) => {
  const app = await openTestApp(t)
  const id = await shop(app)
  const operator = await app.as('operate')
  assert.equal((await operator('PUT', path, {})).status, 403)
  assert.equal((await operator('GET', path)).status, 200)
  await put(app, { allowIps: ['192.0.2.1'] })
  await put(app, {})
  const entries = await app.store.audit.list({ limit: 50, project: id, action: 'proxy-rules.replace' })
  // biome-ignore lint/suspicious/noExplicitAny: whatever the entry says.
  const [last, first] = entries.filter(({ outcome }) => outcome === 'success').map(({ changes }) => changes as any)
  assert.equal(first.before, null)
  assert.deepEqual(first.after.allowIps, last.before.allowIps)
  assert.deepEqual(last.after.allowIps, [])
})

test('rules are there after a restart, with the same ETag', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const before = await put(app, { basicAuth: { username: 'guest', password: 'a walrus in the bath' } })
  const again = await app.reopen()
  const after = await again.ask<ProxyRules>('GET', path)
  assert.deepEqual(after.body, before.body)
  assert.equal(after.headers.etag, before.headers.etag)
})

test('maintenance is kept with its settings when it is off, checked as the other rules, and recorded without its page', async (t) => {
  const app = await openTestApp(t)
  const id = await shop(app)
  const row = (await app.store.projects.find(id))!
  await mkdir(row.path, { recursive: true })
  await chmod(row.path, 0o755)
  await writeFile(join(row.path, 'maintenance.html'), '<h1>a walrus in the bath</h1>')
  const on = await put(app, {
    maintenance: { enabled: true, allowIps: ['10.0.0.0/8', '10.0.0.0/8'], message: ' Soon. ' },
  })
  assert.deepEqual(on.body.maintenance, { enabled: true, allowIps: ['10.0.0.0/8'], message: 'Soon.' })
  assert.equal((await app.store.network.rules(id))!.rules.maintenance?.html, '<h1>a walrus in the bath</h1>')
  const told = [await app.store.audit.list({ limit: 100 }), await app.store.events.after(0, 1000), on.body]
  assert.doesNotMatch(JSON.stringify(told), /walrus/)
  const off = await put(app, { maintenance: { ...on.body.maintenance, enabled: false } })
  assert.deepEqual(off.body.maintenance, { enabled: false, allowIps: ['10.0.0.0/8'], message: 'Soon.' })
  const bad = await put(app, { maintenance: { enabled: true, allowIps: ['10.0.0.1', 'here'], retryAfterSeconds: 0 } })
  assert.equal(bad.status, 422)
  const wrong = await put(app, { maintenance: { enabled: true, allowIps: ['10.0.0.1', 'here'] } })
  assert.deepEqual(
    wrong.body.errors?.map(({ pointer }) => pointer),
    ['/maintenance/allowIps/1'],
  )
  assert.equal((await put(app, {})).body.maintenance, undefined)
})
