import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '@stackquay/testkit'
import { createAuthenticator } from '../src/access/authenticator.ts'
import { createSessionCookie } from '../src/access/session-cookie.ts'
import { instanceId } from '../src/access/session-origin.ts'
import { createProviderClient } from '../src/oidc/provider.ts'
import { createRefresher } from '../src/oidc/refresher.ts'
import { sessionSecretPrefix } from '../src/oidc/settings.ts'
import { admin, openTestApp, type TestApp } from './app-support.ts'
import { clientSecret, openProvider, openTab, type RealProvider } from './oidc-support.ts'

const roles = { claim: 'groups', admin: ['ops'], operate: ['dev'], read: ['staff'] }

async function set(app: TestApp, provider: Pick<RealProvider, 'issuer'>, body: object = {}) {
  const all = { issuer: provider.issuer, clientId: 'stackquay', clientSecret, roles, password: admin.password, ...body }
  return app.call('putOidc', { headers: await app.session(), body: all })
}

/** A whole round, as a browser and its page make it. */
async function signIn(app: TestApp, provider: RealProvider, subject: string) {
  const tab = openTab(app)
  const back = await provider.signIn(await tab.start(), subject)
  return { tab, back, answer: await tab.finish(await tab.callback(back)) }
}

function headersOf({ headers, json }: Awaited<ReturnType<TestApp['call']>>): Record<string, string> {
  return { cookie: String(headers['set-cookie']).split(';')[0]!, 'x-csrf-token': json.csrfToken }
}

test('people sign in at a real provider, by issuer and subject and with the role of their claims', async (t) => {
  const app = await openTestApp(t)
  const provider = await openProvider(t)
  provider.people.set('1001', { groups: ['dev'], preferred_username: 'grace' })
  provider.people.set('1002', { groups: ['other'], preferred_username: 'eve' })
  provider.people.set('1003', { groups: ['ops'], preferred_username: 'ada', email: 'ada@example.org' })

  assert.deepEqual((await app.call('getOidcOffer')).json, { label: null, origin: 'http://127.0.0.1:1' })
  assert.equal((await openTab(app).start()).split('#')[1], 'oidc-error=off')
  const made = await set(app, provider, { label: 'Example' })
  assert.equal(made.status, 200, made.body)
  assert.ok(!made.body.includes(clientSecret))
  assert.equal(made.json.provider.hasSecret, true)
  assert.equal((await app.call('getOidcOffer')).json.label, 'Example')

  const { tab, back, answer } = await signIn(app, provider, '1001')
  assert.equal(answer.status, 200, answer.body)
  assert.deepEqual([answer.json.user, answer.json.role], ['grace', 'operate'])
  const headers = headersOf(answer)
  assert.match(String(answer.headers['set-cookie']), /SameSite=Strict/)
  assert.equal((await app.call('getMe', { headers })).json.user, 'grace')

  // Who replays what the browser brought gets nothing, and neither does another page with the right code.
  assert.equal(await tab.callback(back), '#oidc-error=invalid', 'a code of the provider works once')
  assert.equal(await openTab(app).callback(back), '#oidc-error=expired', 'a browser that did not begin')
  const other = openTab(app)
  const theirs = await provider.signIn(await other.start(), '1001')
  const wrong = new URL(theirs)
  wrong.searchParams.set('state', 'of-another-round')
  assert.equal(await other.callback(wrong.href), '#oidc-error=expired')
  const mixedUp = new URL(theirs)
  mixedUp.searchParams.set('iss', 'https://evil.example')
  assert.equal(await other.callback(mixedUp.href), '#oidc-error=invalid')
  const hash = await other.callback(theirs)
  assert.equal((await other.finish(hash, tab.verifier)).json.code, 'sign_in_failed')
  assert.equal((await other.finish(hash)).json.code, 'sign_in_failed', 'a code is gone after a wrong verifier')

  // No role: nobody. The name of an administrator: another account.
  const none = await signIn(app, provider, '1002')
  assert.deepEqual([none.answer.status, none.answer.json.code], [401, 'sign_in_failed'])
  assert.equal(await app.app.store.users.byName('eve'), null)
  const twin = await signIn(app, provider, '1003')
  assert.deepEqual([twin.answer.json.user, twin.answer.json.role], ['ada-2', 'admin'])

  // The second time it is the same account, with the role of today.
  provider.people.set('1001', { groups: ['staff'], preferred_username: 'renamed' })
  const again = await signIn(app, provider, '1001')
  assert.deepEqual([again.answer.json.userId, again.answer.json.role], [answer.json.userId, 'read'])
  assert.equal((await app.call('getMe', { headers })).json.role, 'read', 'the session of before too')

  const denied = await app.app.store.audit.list({ limit: 20, action: 'auth.oidc_login', outcome: 'denied' })
  assert.ok(denied.length >= 1)
  const kept = JSON.stringify([await app.app.store.audit.list({ limit: 100 }), app.log()])
  assert.ok(!kept.includes(clientSecret) && !kept.includes(new URL(back).searchParams.get('code')!))
})

test('an account here is linked by its owner or an administrator, and keeps its role', async (t) => {
  const app = await openTestApp(t)
  const provider = await openProvider(t)
  provider.people.set('7', { groups: [], preferred_username: 'whoever' })
  assert.equal((await set(app, provider, { createPeople: false })).status, 200)
  assert.match((await signIn(app, provider, '7')).answer.json.detail, /No account here is linked/)

  const headers = await app.session()
  const link = async (password: string) => {
    const tab = openTab(app)
    const hash = await tab.callback(await provider.signIn(await tab.start(), '7'))
    const code = new URLSearchParams(hash.slice(1)).get('oidc')
    return app.call('linkOidc', { headers, body: { code, verifier: tab.verifier, password } })
  }
  assert.equal((await link('not the password')).status, 401)
  assert.equal((await link(admin.password)).status, 204)
  const { answer } = await signIn(app, provider, '7')
  assert.deepEqual([answer.json.user, answer.json.role], ['ada', 'admin'])

  const body = { username: 'bob', role: 'read', password: 'the password of bob' }
  const bob = (await app.call('createUser', { headers, body })).json.id
  const put = (uid: string, subject: string) =>
    app.call('linkUserOidc', { headers, params: { uid }, body: { subject, password: admin.password } })
  assert.equal((await put(bob, '7')).json.code, 'conflict')
  assert.equal((await put(bob, '8')).status, 204)
  const session = headersOf(answer)
  const ada = (await app.app.store.users.byName('ada'))!.id
  assert.equal((await app.call('unlinkUserOidc', { headers, params: { uid: ada } })).status, 204)
  assert.equal((await app.call('getMe', { headers: session })).status, 401)
  assert.equal((await app.call('getMe', { headers })).status, 200, 'a session by password goes on')
  assert.equal((await app.call('unlinkUserOidc', { headers, params: { uid: ada } })).status, 404)
})

test('who left the provider is out at the next refresh, a role follows, and a silent provider ends nothing at once', async (t) => {
  const app = await openTestApp(t)
  const provider = await openProvider(t)
  const { store } = app.app
  provider.people.set('1', { groups: ['dev'], preferred_username: 'one' })
  provider.people.set('2', { groups: ['dev'], preferred_username: 'two' })
  provider.people.set('3', { groups: ['dev'], preferred_username: 'three' })
  assert.equal((await set(app, provider, { refreshMinutes: 15, graceMinutes: 60 })).status, 200)
  const sessions: Record<string, string>[] = []
  for (const subject of ['1', '2', '3']) sessions.push(headersOf((await signIn(app, provider, subject)).answer))
  const rows = await store.oidc.sessions()
  const idOf = (subject: string) => rows.find((row) => row.subject === subject)!.session
  const roleOf = async (index: number) => (await app.call('getMe', { headers: sessions[index]! })).json.role ?? null

  let later = 0
  const log = { warn: () => undefined }
  const client = createProviderClient({ now: Date.now })
  const refresher = await createRefresher({ store, provider: client, now: () => Date.now() + later, log })
  t.after(() => refresher.close())
  assert.equal(refresher.due(idOf('1')), null, 'not before its time')
  later = 16 * 60_000
  provider.people.set('1', { groups: ['staff'], preferred_username: 'one' })
  provider.people.delete('2')
  // Two requests at once refresh once: a refresh token works once.
  await Promise.all([refresher.due(idOf('1')), refresher.due(idOf('1')), refresher.due(idOf('2'))])
  assert.equal(await roleOf(0), 'read')
  assert.equal(await roleOf(1), null)
  assert.equal(await roleOf(2), 'operate')
  assert.equal(refresher.due(idOf('1')), null, 'it was refreshed')
  assert.equal(await store.secrets.find(null, sessionSecretPrefix + idOf('2')), null)
  const ends = await store.audit.list({ limit: 10, action: 'session.end' })
  assert.deepEqual(
    ends.map(({ actor, target }) => [actor, target]),
    [['system', idOf('2')]],
  )

  // The very request of who has left is refused, whatever else it asks for; and so is the next.
  later = 0
  const cookie = createSessionCookie(await instanceId(store))
  const authenticator = createAuthenticator({ store, cookie, log, due: refresher.due })
  t.after(() => authenticator.close())
  const ask = (index: number) => Promise.resolve(authenticator.authenticate(sessions[index]!, {}))
  assert.equal((await ask(2)).kind, 'session')
  provider.people.set('3', { groups: [], preferred_username: 'three' })
  later = 17 * 60_000
  await assert.rejects(ask(2), { code: 'unauthorized' })
  await assert.rejects(ask(2), { code: 'unauthorized' })
  provider.people.set('3', { groups: ['dev'], preferred_username: 'three' })
  later = 0
  sessions[2] = headersOf((await signIn(app, provider, '3')).answer)
  const third = (await store.oidc.sessions()).find(({ subject }) => subject === '3')!
  refresher.watch(third)

  // A role that is taken away whole ends the session too.
  later = 32 * 60_000
  provider.people.set('1', { groups: [], preferred_username: 'one' })
  await refresher.due(idOf('1'))
  assert.equal(await roleOf(0), null)

  await provider.close()
  await refresher.due(third.session)
  assert.equal(await roleOf(2), 'operate', 'the provider is down')
  assert.notEqual(refresher.failingSince(), null)
  const down = (await store.oidc.session(third.session))?.refreshAt
  later += 59 * 60_000
  assert.equal(refresher.due(third.session), null, 'no request waits for a provider that is down')
  const seen = async () => (await store.oidc.session(third.session))?.refreshAt
  await waitFor('the look behind the request', async () => (await seen()) !== down)
  assert.equal(await roleOf(2), 'operate')
  later += 2 * 60_000
  assert.equal(refresher.due(third.session), null)
  await waitFor('the end of the bounded time', async () => (await roleOf(2)) === null)
})

test('log-out ends the session here and names the page of the provider; another provider ends all of the one before', async (t) => {
  const app = await openTestApp(t)
  const provider = await openProvider(t)
  provider.people.set('1', { groups: ['dev'], preferred_username: 'one' })
  assert.equal((await set(app, provider)).status, 200)
  const first = headersOf((await signIn(app, provider, '1')).answer)
  const { json } = await app.call('logoutOidc', { headers: first })
  const url = new URL(json.url)
  assert.equal(url.origin, provider.issuer)
  assert.equal(url.searchParams.get('post_logout_redirect_uri'), 'http://127.0.0.1:1/login')
  assert.ok(url.searchParams.get('id_token_hint'))
  assert.equal((await fetch(url)).status, 200, 'the provider takes it')
  assert.equal((await app.call('getMe', { headers: first })).status, 401)
  assert.deepEqual(await app.app.store.secrets.ofInstance(sessionSecretPrefix), {})

  const second = headersOf((await signIn(app, provider, '1')).answer)
  assert.equal(
    (await set(app, provider, { clientSecret: undefined, refreshMinutes: 30 })).json.provider.hasSecret,
    true,
  )
  assert.equal((await app.call('getMe', { headers: second })).status, 200, 'the same provider')
  const moved = await set(app, provider, { clientId: 'another', clientSecret: undefined })
  assert.equal(moved.json.provider.hasSecret, false, 'a secret is shown to nobody else')
  assert.equal((await app.call('getMe', { headers: second })).status, 401)
  assert.equal((await app.call('deleteOidc', { headers: await app.session() })).status, 204)
  assert.deepEqual((await app.call('getOidc', { headers: await app.session() })).json.provider, null)
})
