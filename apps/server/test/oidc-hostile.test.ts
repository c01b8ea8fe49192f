import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { guardedFetch } from '../src/oidc/guarded-fetch.ts'
import { admin, openTestApp } from './app-support.ts'
import { clientSecret, openHostile, openTab } from './oidc-support.ts'

test('of a hostile or broken provider nothing is believed, and nothing it names is asked', async (t) => {
  const app = await openTestApp(t)
  const hostile = await openHostile(t)
  const body = {
    ...{ issuer: hostile.issuer, clientId: 'stackquay', clientSecret, defaultRole: 'admin', password: admin.password },
  }
  const set = async () => assert.equal((await app.call('putOidc', { headers: await app.session(), body })).status, 200)
  await set()
  const round = async (): Promise<string> => {
    const tab = openTab(app)
    const at = await tab.start()
    if (at.includes('#')) return new URL(at).hash
    const back = (await fetch(at, { redirect: 'manual' })).headers.get('location')!
    const hash = await tab.callback(back)
    if (!hash.startsWith('#oidc=')) return hash
    return `${(await tab.finish(hash)).status}`
  }
  assert.equal(await round(), '200', 'the honest round')
  hostile.rotate()
  assert.equal(await round(), '200', 'a key that was exchanged holds at once')

  const now = Math.floor(Date.now() / 1000)
  const { signed, claims } = hostile
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const tokens: Record<string, (nonce: string) => string> = {
    'another nonce': () => signed(claims('of-another-round')),
    'no nonce': (nonce) => signed({ ...claims(nonce), nonce: undefined }),
    'another issuer': (nonce) => signed({ ...claims(nonce), iss: 'https://evil.example' }),
    'the token of another client': (nonce) => signed({ ...claims(nonce), aud: 'other' }),
    'two audiences and the other is its party': (nonce) =>
      signed({ ...claims(nonce), aud: ['stackquay', 'other'], azp: 'other' }),
    expired: (nonce) => signed({ ...claims(nonce), exp: now - 120 }),
    'from the future': (nonce) => signed({ ...claims(nonce), iat: now + 600, nbf: now + 600 }),
    'no end': (nonce) => signed({ ...claims(nonce), exp: undefined }),
    'no subject': (nonce) => signed({ ...claims(nonce), sub: undefined }),
    unsigned: (nonce) => signed(claims(nonce), { alg: 'none' }),
    'signed with the secret of the client': (nonce) => signed(claims(nonce), { alg: 'HS256' }),
    'signed by somebody else': (nonce) => signed(claims(nonce), {}, other),
    nonsense: () => 'a.b.c',
  }
  const honest = hostile.token
  for (const [what, token] of Object.entries(tokens)) {
    hostile.token = token
    assert.equal(await round(), '#oidc-error=invalid', what)
  }
  hostile.token = (nonce) => signed({ ...claims(nonce), exp: now - 30 })
  assert.equal(await round(), '200', 'clocks that are half a minute apart')
  hostile.token = honest

  const before = (await app.app.store.users.list()).length
  const answers: Record<string, () => void> = {
    'an answer without an end': () =>
      void hostile.answers.set('/token', (_request, response) => void response.end('x'.repeat(600 * 1024))),
    'a redirect to the machine’s credentials': () =>
      void hostile.answers.set(
        '/token',
        (_request, response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
      ),
    'half an answer': () =>
      void hostile.answers.set('/token', (_request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{')
        setTimeout(() => response.destroy(), 20)
      }),
  }
  for (const [what, give] of Object.entries(answers)) {
    give()
    assert.match(await round(), /^#oidc-error=(invalid|unreachable)$/, what)
    hostile.answers.clear()
  }
  assert.equal((await app.app.store.users.list()).length, before)
})

test('log-out leads to no script, wherever the provider has its page', async (t) => {
  const app = await openTestApp(t)
  const hostile = await openHostile(t)
  const body = { issuer: hostile.issuer, clientId: 'stackquay', defaultRole: 'read', password: admin.password }
  for (const [end, url] of [
    ['javascript:alert(document.domain)//', null],
    [`${hostile.issuer}/end`, `${hostile.issuer}/end`],
  ] as const) {
    hostile.metadata = { end_session_endpoint: end }
    // Metadata are kept for a minute: another provider in between has them asked for again.
    await app.call('testOidc', { headers: await app.session(), body: { issuer: 'http://127.0.0.1:9' } })
    assert.equal((await app.call('putOidc', { headers: await app.session(), body })).status, 200)
    const tab = openTab(app)
    const back = (await fetch(await tab.start(), { redirect: 'manual' })).headers.get('location')!
    const { headers, json } = await tab.finish(await tab.callback(back))
    const session = { cookie: String(headers['set-cookie']).split(';')[0]!, 'x-csrf-token': json.csrfToken }
    const ended = await app.call('logoutOidc', { headers: session })
    assert.equal(ended.status, 200)
    assert.equal(ended.json.url?.split('?')[0] ?? null, url)
    assert.equal((await app.call('getMe', { headers: session })).status, 401)
  }
})

test('metadata lead to no address of the machine, to none without TLS elsewhere, and to no other issuer', async (t) => {
  const app = await openTestApp(t)
  const cases: readonly Record<string, unknown>[] = [
    { token_endpoint: 'http://169.254.169.254/latest/meta-data' },
    { token_endpoint: 'https://169.254.169.254/latest/meta-data' },
    { token_endpoint: 'http://evil.example/token' },
    { jwks_uri: 'http://[fd00:ec2::254]/keys' },
    { issuer: 'https://accounts.example.org' },
    { authorization_endpoint: 'javascript:alert(document.domain)//' },
    { authorization_endpoint: 'data:text/html,<script>alert(1)</script>' },
  ]
  for (const metadata of cases) {
    const hostile = await openHostile(t)
    hostile.metadata = metadata
    const body = { issuer: hostile.issuer, clientId: 'stackquay', defaultRole: 'read', password: admin.password }
    await app.call('putOidc', { headers: await app.session(), body })
    const tab = openTab(app)
    const at = await tab.start()
    const hash = at.includes('#')
      ? new URL(at).hash
      : await tab.callback((await fetch(at, { redirect: 'manual' })).headers.get('location')!)
    assert.match(hash, /^#oidc-error=(invalid|unreachable)$/, JSON.stringify(metadata))
  }
  const headers = await app.session()
  for (const issuer of ['http://id.example.org', 'https://id.example.org/?x', 'nonsense'])
    assert.equal((await app.call('testOidc', { headers, body: { issuer } })).json.code, 'validation_failed', issuer)
})

test('the guard ends what is slow, and a test of a provider says what is wrong with it', async (t) => {
  const app = await openTestApp(t)
  const hostile = await openHostile(t)
  const fetch = guardedFetch({ loopback: true, timeoutMs: 100 })
  hostile.answers.set('/slow', (_request, response) => void response.writeHead(200).write('{'))
  await assert.rejects(fetch(`${hostile.issuer}/slow`, {}), /took longer than 0.1 s/)
  await assert.rejects(guardedFetch({ loopback: false })(`${hostile.issuer}/keys`, {}), /not asked without TLS/)

  const headers = await app.session()
  const check = async () => {
    const { json } = await app.call('testOidc', { headers, body: { issuer: hostile.issuer } })
    return Object.fromEntries(json.checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]))
  }
  hostile.answers.set(
    '/keys',
    (_request, response) => void response.writeHead(200, { date: new Date(0).toUTCString() }).end('{"keys":[]}'),
  )
  assert.deepEqual(await check(), { discovery: true, keys: false, redirect: true, clock: false })
  hostile.answers.clear()
  assert.deepEqual(await check(), { discovery: true, keys: true, redirect: true, clock: true })
})
