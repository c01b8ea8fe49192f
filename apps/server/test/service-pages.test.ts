import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Code } from '@stackquay/proxy/codes'
import { newId, sessionAgeMs, sessionIdleMs } from '@stackquay/store'
import { servicePageHandlers } from '../src/addresses/service-page-handlers.ts'
import { projectHosts } from '../src/projects/project-hosts.ts'
import { refuseTakenPages } from '../src/service-pages/page-taken.ts'
import { createPagePasses, watchPagePasses } from '../src/service-pages/passes.ts'
import { openTestApp, type TestApp } from './app-support.ts'

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const words = (name: string) => `the password of ${name}`

async function user(app: TestApp, username: string, role: string) {
  const headers = await app.session()
  const made = await app.call('createUser', { headers, body: { username, role, password: words(username) } })
  assert.equal(made.status, 201, made.body)
  return { id: made.json.id as string, headers: await app.session(username, words(username)) }
}

async function shop(app: TestApp): Promise<string> {
  const body = { name: 'Shop', static: {}, mailpit: {}, start: false }
  const made = await app.call('createProject', { headers: await app.session(), body, query: { wait: '30' } })
  assert.equal(made.status, 201, made.body)
  return made.json.id
}

/** The handler over the real store, with a proxy that takes codes. */
function world(app: TestApp, project: string, signIn = false) {
  const { store } = app.app
  const passes = createPagePasses(store, async () => 'abc')
  const codes: Code[] = []
  const told: string[][] = []
  const row = { id: project, slug: 'shop', spec: { services: { mailpit: { enabled: true } } } }
  const known = { row, resolved: { pages: [{ workload: 'mailpit', port: 'web' }], extraHosts: [] } }
  const network = {
    domains: [{ host: 'shop.example.org' }, { host: '*.wild.example.org' }],
    formerSlugs: [{ slug: 'old', until: '2027-01-01' }],
    rules: { rules: { signIn } },
  }
  // Has a name below the other's wildcard, as homes of before may have.
  const others = [
    { row: { id: 'prj_other', slug: 'other', spec: { services: {} } }, resolved: { pages: [], extraHosts: [] } },
  ]
  const ofOthers = { domains: [{ host: 'theirs.wild.example.org' }], formerSlugs: [], rules: null }
  const hosts = projectHosts({ baseDomain: 'localhost', proxy: { host: '127.0.0.1', port: 8701 }, proxyHttps: null })
  const deps = {
    ...{ store, passes, resolver: hosts, now: () => new Date() },
    config: { sessions: { idleMs: sessionIdleMs, ageMs: sessionAgeMs } },
    model: { all: () => [known, ...others] },
    network: { of: (id: string) => (id === row.id ? network : ofOthers) },
    published: async (...projects: string[]) => void told.push(projects),
    proxy: () => ({ addCode: async (code: Code) => void codes.push(code) }),
  }
  const handlers = servicePageHandlers(deps as never)
  const open = async (username: string, body: object) => {
    const person = (await store.users.byName(username))!
    const sessions = await store.sessions.of(person.id)
    const context = {
      principal: {
        kind: 'session',
        user: { id: person.id, name: username },
        sessionId: sessions.at(-1)!.id,
        scope: person.role,
      },
      audit: (entry: object) => ({
        actor: username,
        ip: null,
        requestId: null,
        outcome: 'success',
        source: 'session',
        ...entry,
      }),
    }
    const input = { body: { host: 'mailpit--shop.localhost', ...body } }
    return (await handlers.openServicePage(input as never, context as never)) as { status: 201; body: { url: string } }
  }
  return { store, passes, codes, told, open }
}

test('only a browser session that may operate projects opens pages of services, and nobody else learns of any', async (t) => {
  const app = await openTestApp(t)
  await shop(app)
  const reader = await user(app, 'grace', 'read')
  const admin = await app.session()
  const token = await app.call('createToken', { headers: admin, body: { name: 'all', scope: 'admin' } })
  const host = 'mailpit--shop.localhost'
  const open = async (headers: Record<string, string>, body: object = { host }) => {
    const { status, json } = await app.call('openServicePage', { headers, body })
    return `${status} ${json.code}`
  }
  assert.equal(await open({}), '401 unauthorized')
  assert.equal(await open({ authorization: `Bearer ${token.json.value}` }), '403 session_required')
  for (const name of [host, 'mailpit--nobody.localhost'])
    assert.equal(await open(reader.headers, { host: name }), '403 role_insufficient')
  assert.equal(await open({ cookie: admin.cookie! }), '401 unauthorized', 'a cookie alone is nobody')
  for (const name of [
    'mailpit--nobody.localhost',
    'shop.localhost',
    'redis--shop.localhost',
    'MAILPIT--shop.localhost',
  ])
    assert.equal(await open(admin, { host: name }), '404 not_found', name)
  assert.equal(await open(admin), '503 unavailable', 'there is no proxy')
  assert.deepEqual(await app.app.store.pagePasses.live(), [])
  const denied = await app.app.store.audit.list({ limit: 20, action: 'service.page.open' })
  // Refusals of strangers are written down once for a while.
  assert.deepEqual(denied.map(({ actor, outcome }) => `${actor} ${outcome}`).toSorted(), [
    'ada (token: all) denied',
    'anonymous denied',
    'grace denied',
    'grace denied',
  ])
})

test('a code leads to its host and nowhere else, and its reader stands in the audit log', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  await user(app, 'hopper', 'operate')
  const { open, codes, told, passes, store } = world(app, project)
  const answer = await open('hopper', { path: '/view?x=1' })
  const url = new URL(answer.body.url)
  assert.equal(`${url.origin}${url.pathname}`, 'http://mailpit--shop.localhost:8701/.stackquay/enter')
  const [code] = codes
  assert.equal(code!.hash, hashOf(url.searchParams.get('code')!))
  assert.deepEqual([code!.host, code!.path], ['mailpit--shop.localhost', '/view?x=1'])
  assert.ok(code!.redeemBy - Date.now() <= 30_000)
  // The proxy has the pass before anybody can have its cookie, and neither cookie nor code is kept anywhere.
  assert.deepEqual(told, [[project]])
  assert.deepEqual(
    passes.of(project, 'mailpit').map(({ hash }) => hash),
    [hashOf(code!.cookie)],
  )
  assert.ok(code!.expiresAt <= Date.now() + 12 * 3_600_000)
  const [entry] = await store.audit.list({ limit: 1, action: 'service.page.open' })
  assert.deepEqual([entry!.actor, entry!.target, entry!.project], ['hopper', 'shop/mailpit', project])
  const kept = JSON.stringify([await store.audit.list({ limit: 50 }), await store.pagePasses.live(), app.log()])
  for (const secret of [code!.cookie, url.searchParams.get('code')!]) assert.ok(!kept.includes(secret))

  assert.equal(new URL((await open('hopper', { secure: true })).body.url).origin, 'https://mailpit--shop.localhost')
  for (const path of ['//evil.example', '/\\evil.example', 'https://evil.example', '/a\r\nset-cookie: a', '']) {
    await open('hopper', { path })
    assert.equal(codes.at(-1)!.path, '/', JSON.stringify(path))
  }
  // Of one browser and page a few stay.
  assert.equal(passes.of(project, 'mailpit').length, 4)
  assert.ok(passes.of(project, 'mailpit').some(({ hash }) => hash === hashOf(codes.at(-1)!.cookie)))
})

test('whatever takes a right away takes the passes with it', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  const endings: readonly (readonly [
    string,
    (person: Awaited<ReturnType<typeof user>>, name: string) => Promise<unknown>,
  ])[] = [
    ['log-out', ({ headers }) => app.call('logout', { headers })],
    ['a lower role', async ({ id }) => change(id, { role: 'read' })],
    ['being disabled', async ({ id }) => change(id, { disabled: true })],
    ['a new password by an administrator', async ({ id }) => change(id, { password: 'of the compiler' })],
    ['being deleted', async ({ id }) => app.call('deleteUser', { params: { uid: id }, headers: await app.session() })],
    [
      'logging out elsewhere',
      async (_person, name) => app.call('endOtherSessions', { headers: await app.session(name, words(name)) }),
    ],
  ]
  const change = async (uid: string, body: object) =>
    app.call('changeUser', { params: { uid }, headers: await app.session(), body })
  for (const [index, [what, end]] of endings.entries()) {
    const name = `person${index}`
    const person = await user(app, name, 'operate')
    const { open, passes, store } = world(app, project)
    await open(name, {})
    const before = passes.of(project, 'mailpit').length
    assert.equal(before, 1, what)
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    const onError = (error: unknown) => assert.fail(String(error))
    const stop = watchPagePasses({ store, passes, publish: async (projects) => resolve(projects), onError })
    const ended = (await end(person, name)) as { status: number; body: string }
    assert.ok(ended.status < 300, `${what}: ${ended.body}`)
    assert.deepEqual(await promise, [project], what)
    assert.deepEqual(passes.of(project, 'mailpit'), [], what)
    stop()
  }
})

test('a pass lasts no longer than its session, used or not, and goes with the project', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  const { store } = app.app
  const admin = (await store.users.byName('ada'))!
  const session = newId('ses')
  const soon = new Date(Date.now() + 60_000)
  const row = {
    id: session,
    cookieHash: hashOf('a'),
    keyHash: hashOf('b'),
    user: admin.id,
    ip: null,
    userAgent: null,
    expiresAt: soon.toISOString(),
  }
  await store.transaction((tx) => tx.sessions.insert(row))
  const { open, codes, passes } = world(app, project)
  await open('ada', {})
  assert.equal(codes[0]!.expiresAt, soon.getTime())
  await store.transaction((tx) =>
    tx.pagePasses.insert({
      hash: hashOf('c'),
      session,
      project,
      service: 'mailpit',
      expiresAt: new Date(Date.now() - 1),
    }),
  )
  assert.equal((await store.pagePasses.live()).length, 1)
  await app.call('deleteProject', {
    ...{ params: { id: 'shop' }, headers: await app.session() },
    query: { confirm: 'shop', data: 'delete', purge: 'true', wait: '30' },
  })
  await passes.renew()
  assert.deepEqual(passes.of(project, 'mailpit'), [])
})

test('whoever may read a project opens it where its rules ask for a sign-in, and is out with the right', async (t) => {
  const app = await openTestApp(t)
  const project = await shop(app)
  const person = await user(app, 'grace', 'read')
  const { open, codes, passes, store } = world(app, project, true)
  const urls: readonly (readonly [string, string])[] = [
    ['shop.localhost', 'http://shop.localhost:8701'],
    ['shop.example.org', 'http://shop.example.org:8701'],
    ['a.wild.example.org', 'http://a.wild.example.org:8701'],
    ['old.localhost', 'http://shop.localhost:8701'],
  ]
  for (const [host, origin] of urls) {
    const { body } = await open('grace', { host, path: '/cart' })
    assert.equal(new URL(body.url).origin, origin)
    assert.deepEqual([codes.at(-1)!.host, codes.at(-1)!.path], [new URL(origin).hostname, '/cart'])
  }
  assert.equal(passes.of(project, '').length, 4)
  assert.deepEqual(passes.of(project, 'mailpit'), [], 'a pass to the project is none to its services')
  for (const host of [
    'mailpit--shop.localhost',
    'b.a.wild.example.org',
    'theirs.wild.example.org',
    'nobody.localhost',
    'wild.example.org',
  ])
    await assert.rejects(open('grace', { host }), { code: 'role_insufficient' }, host)
  await assert.rejects(world(app, project).open('grace', { host: 'shop.localhost' }), { code: 'role_insufficient' })
  await assert.rejects(world(app, project).open('ada', { host: 'shop.localhost' }), { code: 'not_found' })
  const { promise, resolve } = Promise.withResolvers<readonly string[]>()
  const onError = (error: unknown) => assert.fail(String(error))
  const stop = watchPagePasses({ store, passes, publish: async (projects) => resolve(projects), onError })
  await app.call('logout', { headers: person.headers })
  assert.deepEqual(await promise, [project])
  assert.deepEqual(passes.of(project, ''), [])
  stop()
})

test('a service is not enabled where its page would be at the name of a project that is there', async () => {
  const store = { projects: { find: async (slug: string) => (slug === 'mailpit--shop' ? {} : null) } }
  const spec = (enabled: boolean) => ({ services: { mailpit: { enabled }, redis: { enabled: true } } })
  const refused = (slug: string, before: boolean, after: boolean) =>
    refuseTakenPages({ slug, spec: spec(before) } as never, spec(after) as never, { store } as never)
  await assert.rejects(refused('shop', false, true), { code: 'conflict' })
  await refused('shop', true, true)
  await refused('shop', true, false)
  await refused('other', false, true)
})
