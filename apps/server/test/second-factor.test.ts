import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { SecondFactorRule } from '@stackquay/domain'
import { type FactorSettings, usualFactorSettings } from '../src/access/factors/parts.ts'
import { codeAt, fromBase32, stepAt } from '../src/access/factors/totp.ts'
import { auditOf, bearer, openTestHttpApp, password, type TestHttpApp } from './http-support.ts'
import { pageOrigin, softwareAuthenticator } from './software-authenticator.ts'

type Headers = Record<string, string>
const browser: Headers = { origin: pageOrigin, host: 'localhost:8700' }

async function open(t: TestContext, rule: SecondFactorRule = 'off') {
  const config: FactorSettings & { requireSecondFactor: SecondFactorRule } = {
    ...usualFactorSettings,
    requireSecondFactor: rule,
  }
  const http = await openTestHttpApp(t, { config })
  const post = (path: string, payload?: object, headers: Headers = {}) =>
    http.app.inject({
      method: 'POST',
      url: `/api/v1${path}`,
      headers: { ...browser, ...headers },
      ...(payload && { payload }),
    })
  const login = (username = 'ada', more: object = {}) => post('/auth/login', { username, password, ...more })
  const second = (challenge: string, factor: object) => post('/auth/login/second', { challenge, ...factor })
  const challengeOf = async (username = 'ada', more: object = {}): Promise<string> => {
    const answer = await login(username, more)
    assert.equal(answer.statusCode, 202, answer.body)
    return answer.json().challenge
  }
  const code = (secret: string, away = 0) => codeAt(fromBase32(secret), stepAt(http.clock.time) + away)
  /** A minute later no code of before is near. */
  const later = () => {
    http.clock.time += 90_000
  }
  const enrol = async (username = 'ada') => {
    const { headers } = await http.session(username)
    const begun = (await post('/auth/totp', { password }, headers)).json()
    const confirmed = await post('/auth/totp/confirm', { code: code(begun.secret) }, headers)
    assert.equal(confirmed.statusCode, 200, confirmed.body)
    later()
    return { secret: begun.secret as string, recoveryCodes: confirmed.json().recoveryCodes as string[], headers }
  }
  const addPasskey = async (headers: Headers, authenticator = softwareAuthenticator(), name = 'Laptop') => {
    const options = (await post('/auth/passkeys/options', { password }, headers)).json()
    assert.ok(options.rp, JSON.stringify(options))
    const credential = authenticator.create(options)
    const added = await post('/auth/passkeys', { name, credential }, headers)
    return { authenticator, added, credential, options }
  }
  return { http, post, login, second, challengeOf, code, later, enrol, addPasskey, config }
}

const codesOf = (answers: readonly { statusCode: number; json<T>(): T }[]) =>
  answers.map((answer) => (answer.statusCode < 300 ? answer.statusCode : answer.json<{ code: string }>().code))

const me = (http: TestHttpApp, headers: Headers) => http.app.inject({ url: '/api/v1/auth/me', headers })

test('with an app a log-in takes the password and a code; before the code there is no session', async (t) => {
  const { http, login, second, code, enrol, later } = await open(t)
  const { secret, recoveryCodes } = await enrol()
  assert.equal(recoveryCodes.length, 10)
  const asked = await login()
  const { challenge, ...rest } = asked.json()
  assert.equal(asked.headers['set-cookie'], undefined)
  assert.deepEqual({ ...rest, expiresAt: '' }, { kinds: ['totp', 'recovery_code'], passkey: null, expiresAt: '' })
  const done = await second(challenge, { code: code(secret) })
  assert.equal(done.statusCode, 200, done.body)
  assert.match(done.json().deviceKey, /^[\w-]{43}$/, 'the browser is known from now on')
  const cookie = String(done.headers['set-cookie']).split(';')[0]!
  const headers = { cookie, 'x-csrf-token': done.json().csrfToken }
  assert.equal((await me(http, headers)).json().user, 'ada')
  assert.deepEqual(codesOf([await second(challenge, { code: code(secret, 1) })]), ['challenge_invalid'], 'once')
  later()
  const entries = await http.store.audit.list({ limit: 5, action: 'auth.login', outcome: 'success' })
  assert.deepEqual(
    entries.slice(0, 2).map(({ changes, actor }) => [actor, JSON.stringify(changes).replace(/dev_\w+/, 'dev')]),
    [
      ['ada', '{"after":{"by":"totp","device":"dev"}}'],
      ['ada', '{"after":{"secondFactor":"asked"}}'],
    ],
  )
})

test('a code opens once, also for two at the same time and after a restart of what is in memory', async (t) => {
  const { second, challengeOf, code, enrol, http } = await open(t)
  const { secret } = await enrol()
  const challenges = [await challengeOf(), await challengeOf()]
  const now = code(secret)
  const both = await Promise.all(challenges.map((challenge) => second(challenge, { code: now })))
  assert.deepEqual(codesOf(both).sort(), [200, 'second_factor_failed'])
  assert.deepEqual(codesOf([await second(await challengeOf(), { code: now })]), ['second_factor_failed'])
  const { id } = (await http.store.users.byName('ada'))!
  assert.equal((await http.store.secondFactors.of(id)).totp?.lastStep, stepAt(http.clock.time), 'it is kept')
  assert.deepEqual(
    codesOf([await second(await challengeOf(), { code: code(secret, -1) })]),
    ['second_factor_failed'],
    'nor an older one',
  )
  assert.deepEqual(codesOf([await second(await challengeOf(), { code: code(secret, 1) })]), [200])
})

test('one challenge makes one session, whatever factors come with it at once', async (t) => {
  const { second, challengeOf, code, enrol, http } = await open(t)
  const { secret, recoveryCodes } = await enrol()
  const challenge = await challengeOf()
  const factors = [{ code: code(secret) }, ...recoveryCodes.slice(0, 4).map((recoveryCode) => ({ recoveryCode }))]
  const answers = await Promise.all(factors.map((factor) => second(challenge, factor)))
  assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  const { id } = (await http.store.users.byName('ada'))!
  assert.ok((await http.store.secondFactors.of(id)).recoveryCodes >= 9, 'what opened nothing was not spent')
})

test('recovery codes open once each, are counted, and new ones take the place of the old', async (t) => {
  const { second, post, challengeOf, enrol, http } = await open(t)
  const { recoveryCodes, headers } = await enrol()
  const [first, other] = recoveryCodes as [string, string]
  assert.deepEqual(codesOf([await second(await challengeOf(), { recoveryCode: first.toUpperCase() })]), [200])
  assert.deepEqual(codesOf([await second(await challengeOf(), { recoveryCode: first })]), ['second_factor_failed'])
  const view = async () => (await http.app.inject({ url: '/api/v1/auth/second-factor', headers })).json()
  assert.equal((await view()).recoveryCodesLeft, 9)
  const again = await post('/auth/recovery-codes', { password }, headers)
  assert.equal(again.json().recoveryCodes.length, 10)
  assert.deepEqual(codesOf([await second(await challengeOf(), { recoveryCode: other })]), ['second_factor_failed'])
  assert.deepEqual(codesOf([await post('/auth/recovery-codes', { password: 'wrong' }, headers)]), ['login_failed'])
})

test('a challenge is of one person, five minutes and one password, and bears ten tries', async (t) => {
  const { http, second, challengeOf, code, enrol, post, later } = await open(t)
  const ada = await enrol()
  await http.user('operate', 'eve')
  const eve = await enrol('eve')
  assert.deepEqual(codesOf([await second(await challengeOf('eve'), { code: code(ada.secret) })]), [
    'second_factor_failed',
  ])
  assert.deepEqual(codesOf([await second(await challengeOf('eve'), { recoveryCode: ada.recoveryCodes[0]! })]), [
    'second_factor_failed',
  ])
  const old = await challengeOf()
  http.clock.time += 5 * 60_000 + 1
  assert.deepEqual(codesOf([await second(old, { code: code(ada.secret) })]), ['challenge_invalid'])
  const tried = await challengeOf()
  const tries = []
  for (let turn = 0; turn < 11; turn++) tries.push(await second(tried, { recoveryCode: 'aaaa-aaaa-aaaa-aaaa' }))
  assert.deepEqual(new Set(codesOf(tries.slice(0, 10))), new Set(['second_factor_failed']))
  assert.deepEqual(codesOf(tries.slice(10)), ['challenge_invalid'])
  later()
  const before = await challengeOf('eve')
  const changed = await post('/auth/password', { current: password, new: 'quite another one' }, eve.headers)
  assert.equal(changed.statusCode, 204, changed.body)
  assert.deepEqual(codesOf([await second(before, { code: code(eve.secret) })]), ['challenge_invalid'])
  const left = await challengeOf()
  const { id } = (await http.store.users.byName('ada'))!
  await http.store.transaction((tx) => tx.users.update(id, { disabled: true }))
  assert.deepEqual(codesOf([await second(left, { code: code(ada.secret) })]), ['challenge_invalid'])
  assert.deepEqual(codesOf([await second('made up', { code: '000000' })]), ['challenge_invalid'])
  assert.deepEqual(codesOf([await second(left, {}), await second(left, { code: '000000', recoveryCode: 'a' })]), [
    'challenge_invalid',
    'challenge_invalid',
  ])
})

test('guessing codes is bounded for the user, whatever challenge, network or password comes with it', async (t) => {
  const { http, second, challengeOf, code, enrol, later, login } = await open(t)
  const { secret } = await enrol()
  // A browser that is known keeps its own way in.
  const first = await login()
  const known = (await second(first.json().challenge, { code: code(secret) })).json().deviceKey
  later()
  const guesses: unknown[] = []
  for (let turn = 0; turn < 8; turn++) guesses.push(...codesOf([await second(await challengeOf(), { code: '000000' })]))
  const failed = 'second_factor_failed'
  assert.deepEqual(guesses, [failed, failed, failed, failed, failed, 'throttled', 'throttled', 'throttled'])
  assert.deepEqual(
    codesOf([await second(await challengeOf(), { code: code(secret) })]),
    ['throttled'],
    'a right one waits too',
  )
  assert.deepEqual(
    codesOf([await second(await challengeOf('ada', { deviceKey: known }), { code: code(secret) })]),
    [200],
  )

  const { id } = (await http.store.users.byName('ada'))!
  await http.store.transaction(async (tx) => {
    for (let turn = 0; turn < 100; turn++) await tx.secondFactors.countFailure(id)
  })
  http.clock.time += 3_600_000
  const closed = await second(await challengeOf(), { code: code(secret) })
  assert.deepEqual(codesOf([closed]), [failed])
  assert.match(closed.json().detail, /100 codes in a row/)
  assert.deepEqual(
    codesOf([await second(await challengeOf('ada', { deviceKey: known }), { code: code(secret) })]),
    [200],
  )
  later()
  assert.deepEqual(
    codesOf([await second(await challengeOf(), { code: code(secret) })]),
    [200],
    'a right one forgets them',
  )
})

test('a stolen session takes no factor away and adds none: each asks for the password; what was open before ends', async (t) => {
  const { http, post, code, enrol, addPasskey } = await open(t)
  const old = await http.session('ada')
  const { headers, secret } = await enrol()
  assert.equal((await me(http, old.headers)).statusCode, 401, 'a session from before the factor')
  const { added } = await addPasskey(headers)
  const { passkey } = added.json()
  const wrong = { password: 'not the password' }
  const tries = [
    await post('/auth/totp', wrong, headers),
    await post('/auth/totp/disable', { ...wrong, code: code(secret) }, headers),
    await post('/auth/passkeys/options', wrong, headers),
    await post(`/auth/passkeys/${passkey.id}/remove`, wrong, headers),
  ]
  assert.deepEqual(new Set(codesOf(tries)), new Set(['login_failed']))
  http.clock.time += 3_600_000
  assert.deepEqual(codesOf([await post('/auth/totp', { password }, headers)]), ['conflict'])
  assert.deepEqual(codesOf([await post('/auth/totp/disable', { password, code: '000000' }, headers)]), [
    'second_factor_failed',
  ])
  assert.deepEqual(codesOf([await post('/auth/totp/disable', { password, code: code(secret) }, headers)]), [204])
  assert.deepEqual(codesOf([await post(`/auth/passkeys/${passkey.id}/remove`, { password }, headers)]), [204])
  const { id } = (await http.store.users.byName('ada'))!
  assert.deepEqual(await http.store.secondFactors.of(id), { totp: null, passkeys: [], recoveryCodes: 0 })
})

test('a passkey is made, is the second factor, and logs in alone; its counter must grow', async (t) => {
  const { http, post, login, second, addPasskey, challengeOf } = await open(t)
  const { headers } = await http.session('ada')
  const { authenticator, added, options } = await addPasskey(headers)
  assert.equal(added.statusCode, 201, added.body)
  assert.equal(added.json().recoveryCodes.length, 10)
  assert.deepEqual([options.rp.id, options.attestation, options.user.name], ['localhost', 'none', 'ada'])

  const asked = (await login()).json()
  assert.deepEqual([asked.kinds, asked.passkey.allowCredentials.length], [['passkey', 'recovery_code'], 1])
  const signed = authenticator.get(asked.passkey)
  assert.deepEqual(codesOf([await second(asked.challenge, { passkey: signed })]), [200])
  const other = await challengeOf()
  assert.deepEqual(
    codesOf([await second(other, { passkey: signed })]),
    ['second_factor_failed'],
    'of another challenge',
  )

  const alone = async (given: object) => post('/auth/login/passkey', { passkey: given })
  const ask = async () => (await post('/auth/login/passkey/options')).json()
  const first = await ask()
  assert.deepEqual([first.allowCredentials, first.userVerification], [undefined, 'required'], 'it names nobody')
  const given = authenticator.get(first)
  assert.deepEqual(codesOf(await Promise.all([alone(given), alone(given)])).sort(), [200, 'second_factor_failed'])
  assert.deepEqual(
    codesOf([await alone(authenticator.get(await ask(), { verified: false }))]),
    ['second_factor_failed'],
    'nobody was verified',
  )
  assert.deepEqual(
    codesOf([await alone(authenticator.get(await ask(), { origin: 'http://localhost:23591' }))]),
    ['second_factor_failed'],
    'a project asked',
  )
  assert.deepEqual(codesOf([await alone(authenticator.get(await ask(), { rpId: 'example.org' }))]), [
    'second_factor_failed',
  ])
  assert.deepEqual(
    codesOf([await alone(softwareAuthenticator().get(await ask()))]),
    ['second_factor_failed'],
    'unknown',
  )
  authenticator.counter = 1
  assert.deepEqual(codesOf([await alone(authenticator.get(await ask()))]), ['second_factor_failed'], 'a copy')
  const [denied] = await auditOf(http.store, 'denied', 1)
  assert.deepEqual(
    [denied?.action, denied?.target, denied?.changes],
    ['auth.login', 'ada', { reason: 'passkey_counter' }],
  )
  authenticator.counter = 50
  const stale = await ask()
  http.clock.time += 5 * 60_000 + 1
  assert.deepEqual(codesOf([await alone(authenticator.get(stale))]), ['second_factor_failed'], 'too late')
  const { id } = (await http.store.users.byName('ada'))!
  await http.store.transaction((tx) => tx.users.update(id, { disabled: true }))
  assert.deepEqual(codesOf([await alone(authenticator.get(await ask()))]), ['second_factor_failed'], 'disabled')
})

test('a passkey is kept for the session that asked, once, and without certificates that name addresses', async (t) => {
  const { http, post, addPasskey } = await open(t)
  const ada = await http.session('ada')
  await http.user('read', 'eve')
  const eve = await http.session('eve')
  const options = (await post('/auth/passkeys/options', { password }, ada.headers)).json()
  const authenticator = softwareAuthenticator()
  const keep = (headers: Headers, credential: object) => post('/auth/passkeys', { name: 'Key', credential }, headers)
  assert.deepEqual(codesOf([await keep(eve.headers, authenticator.create(options))]), ['second_factor_failed'])
  assert.deepEqual(codesOf([await keep(ada.headers, authenticator.create(options, { format: 'packed' }))]), [
    'second_factor_failed',
  ])
  assert.deepEqual(codesOf([await keep(ada.headers, authenticator.create(options, { verified: false }))]), [
    'second_factor_failed',
  ])
  assert.deepEqual(
    codesOf([await keep(ada.headers, authenticator.create(options, { origin: 'http://localhost:1' }))]),
    ['second_factor_failed'],
  )
  assert.deepEqual(codesOf([await keep(ada.headers, { id: 'x', response: {} })]), ['second_factor_failed'])
  const other = softwareAuthenticator()
  const both = await Promise.all([
    keep(ada.headers, authenticator.create(options)),
    keep(ada.headers, other.create(options)),
  ])
  assert.deepEqual(codesOf(both).sort(), [201, 'second_factor_failed'])
  const kept = both[0]!.statusCode === 201 ? authenticator : other
  assert.deepEqual(codesOf([(await addPasskey(ada.headers, kept)).added]), ['conflict'], 'the same again')
  const elsewhere = await post(
    '/auth/passkeys/options',
    { password },
    { ...ada.headers, origin: 'http://127.0.0.1:8700', host: '127.0.0.1:8700' },
  )
  assert.deepEqual([elsewhere.statusCode, elsewhere.json().code], [422, 'passkey_unavailable'])
  assert.match(elsewhere.json().hint, /http:\/\/localhost:8700/)
})

test('whoever must have a factor and has none may set one up, log out, and nothing else; tokens go on', async (t) => {
  const { http, post, code, config, login } = await open(t)
  await http.user('operate', 'grace')
  const { headers } = await http.session('ada')
  const grace = await http.session('grace')
  const token = await http.token({})
  const get = (path: string, of: Headers) => http.app.inject({ url: `/api/v1${path}`, headers: of })
  assert.equal((await get('/users', headers)).statusCode, 200)
  config.requireSecondFactor = 'administrators'
  assert.deepEqual(codesOf([await get('/users', headers), await get('/tokens', headers)]), [
    'enrolment_required',
    'enrolment_required',
  ])
  assert.deepEqual(
    codesOf([await post('/tokens', { name: 'ci' }, headers)]),
    ['enrolment_required'],
    'no way round by a token',
  )
  assert.deepEqual(codesOf([await post('/auth/tickets', { path: '/api/v1/events' }, headers)]), ['enrolment_required'])
  assert.equal((await me(http, headers)).json().mustEnrol, true)
  assert.equal((await login()).json().mustEnrol, true)
  assert.equal((await me(http, grace.headers)).json().mustEnrol, undefined)
  assert.equal((await get('/auth/second-factor', grace.headers)).json().required, false)
  config.requireSecondFactor = 'everyone'
  assert.deepEqual(codesOf([await get('/tokens', grace.headers)]), ['enrolment_required'])
  assert.equal((await get('/auth/me', bearer(token.value))).statusCode, 200)
  assert.equal((await get('/projects', bearer(token.value))).statusCode, 200)
  const { secret } = (await post('/auth/totp', { password }, headers)).json()
  assert.deepEqual(codesOf([await post('/auth/totp/confirm', { code: '000000' }, headers)]), ['second_factor_failed'])
  assert.deepEqual(codesOf([await post('/auth/totp/confirm', { code: code(secret) }, headers)]), [200])
  assert.equal((await get('/users', headers)).statusCode, 200)
  assert.equal((await me(http, headers)).json().mustEnrol, undefined)
})

test('an administrator sees who has a factor, and takes it away from who lost it, with the own password', async (t) => {
  const { http, post, enrol, login } = await open(t)
  const eve = await http.user('operate', 'eve')
  const { headers: hers } = await enrol('eve')
  const { headers } = await http.session('ada')
  const users = async () => (await http.app.inject({ url: '/api/v1/users', headers })).json().items
  assert.deepEqual(
    (await users()).map(({ secondFactors }: { secondFactors?: string[] }) => secondFactors),
    [undefined, ['totp']],
  )
  const reset = (payload: object, of = headers) => post(`/users/${eve.id}/second-factor/reset`, payload, of)
  assert.deepEqual(codesOf([await reset({ password: 'wrong' }), await reset({ password }, hers)]), [
    'login_failed',
    'role_insufficient',
  ])
  const done = await reset({ password })
  assert.deepEqual([done.statusCode, done.json()], [200, { removed: ['totp'] }])
  assert.equal((await me(http, hers)).statusCode, 401)
  assert.equal((await login('eve')).statusCode, 200)
  const [entry] = await http.store.audit.list({ limit: 1, action: 'user.second_factor.reset', outcome: 'success' })
  assert.deepEqual(
    [entry?.actor, entry?.target, entry?.changes],
    ['ada', 'eve', { before: { secondFactors: ['totp'] } }],
  )
})

test('a wrong password and an unknown name are answered alike with a factor and without, and no secret stands anywhere', async (t) => {
  const { http, post, enrol, second, challengeOf, code } = await open(t)
  const { secret, recoveryCodes, headers } = await enrol()
  await http.user('read', 'plain')
  const failed = async (username: string) => {
    const { status, code: problem, detail } = (await post('/auth/login', { username, password: 'wrong one' })).json()
    return { status, problem, detail }
  }
  const answer = await failed('ada')
  assert.equal(answer.problem, 'login_failed')
  for (const name of ['plain', 'nobody']) assert.deepEqual(await failed(name), answer)
  const challenge = await challengeOf()
  const now = code(secret)
  await second(challenge, { code: now })
  const kept = JSON.stringify([
    await http.store.audit.list({ limit: 100 }),
    await http.store.events.after(0, 1000),
    (await http.app.inject({ url: '/api/v1/auth/second-factor', headers })).json(),
    http.errors,
  ])
  for (const text of [secret, now, challenge, ...recoveryCodes]) assert.ok(!kept.includes(text))
  const raw = await import('node:fs').then(({ readFileSync }) => readFileSync(http.database, 'latin1'))
  for (const text of [secret, recoveryCodes[0]!, challenge]) assert.ok(!raw.includes(text))
})
