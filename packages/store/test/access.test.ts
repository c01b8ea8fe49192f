import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Store, sessionIdleMs, TakenError, ticketBeginMs, ticketDownloadMs } from '../src/index.ts'
import { tempStore } from './temp-store.ts'

const hour = 3_600_000

const addUser = (store: Store, id: string, username: string) =>
  store.transaction((tx) => tx.users.insert({ id, username, role: 'admin', passwordHash: 'argon' }))

const addToken = (store: Store, id: string, name: string, expiresAt: string | null = null) =>
  store.transaction((tx) =>
    tx.tokens.insert({
      id,
      hash: `hash of ${id}`,
      prefix: 'stq_abcd',
      name,
      owner: 'usr_1',
      scope: 'operate',
      projects: ['prj_1'],
      expiresAt,
    }),
  )

const addSession = (store: Store, id: string, expiresAt: string, user = 'usr_1') =>
  store.transaction((tx) =>
    tx.sessions.insert({
      id,
      cookieHash: `cookie of ${id}`,
      keyHash: `key of ${id}`,
      user,
      ip: '127.0.0.1',
      userAgent: null,
      expiresAt,
    }),
  )

test('users are found by id and name, counted, changed and deleted; a name has one holder', async (t) => {
  const { store } = await tempStore(t)
  assert.equal(await store.users.count(), 0)
  const ada = await addUser(store, 'usr_1', 'ada')
  assert.deepEqual(await store.users.byName('ada'), ada)
  assert.deepEqual(await store.users.find('usr_1'), ada)
  assert.equal(await store.users.byName('eve'), null)
  await assert.rejects(
    addUser(store, 'usr_2', 'ada'),
    (error: unknown) => error instanceof TakenError && error.what === 'username' && error.holder === null,
  )
  await addUser(store, 'usr_2', 'bob')
  const changed = await store.transaction((tx) => tx.users.update('usr_1', { role: 'read', disabled: true }))
  assert.deepEqual(changed, { ...ada, role: 'read', disabled: true })
  assert.deepEqual(
    (await store.users.list()).map((user) => user.username),
    ['ada', 'bob'],
  )
  await store.transaction((tx) => tx.users.delete('usr_1'))
  assert.equal(await store.users.count(), 1)
})

test('a token is authenticated with its owner, and its revocation, expiry and owner’s end hold at once', async (t) => {
  const { store, clock } = await tempStore(t)
  const { passwordHash: _hash, ...owner } = await addUser(store, 'usr_1', 'ada')
  const token = await addToken(store, 'tok_1', 'ci', '2026-01-01T01:00:00Z')
  assert.equal(token.expiresAt, '2026-01-01T01:00:00.000Z')
  assert.deepEqual(await store.tokens.authenticate('hash of tok_1'), { token, owner })
  assert.equal(await store.tokens.authenticate('hash of tok_2'), null)

  await store.transaction((tx) => tx.users.update('usr_1', { role: 'read' }))
  assert.equal((await store.tokens.authenticate('hash of tok_1'))?.owner.role, 'read')
  await store.transaction((tx) => tx.users.update('usr_1', { disabled: true }))
  assert.equal(await store.tokens.authenticate('hash of tok_1'), null)
  await store.transaction((tx) => tx.users.update('usr_1', { disabled: false }))
  clock.pass(hour - 1)
  assert.notEqual(await store.tokens.authenticate('hash of tok_1'), null)
  clock.pass(1)
  assert.equal(await store.tokens.authenticate('hash of tok_1'), null)

  await addToken(store, 'tok_2', 'other')
  await store.transaction((tx) => tx.tokens.delete('tok_2'))
  assert.equal(await store.tokens.authenticate('hash of tok_2'), null)
  await addToken(store, 'tok_3', 'third')
  await store.transaction((tx) => tx.users.delete('usr_1'))
  assert.equal(await store.tokens.authenticate('hash of tok_3'), null)
  assert.equal(await store.tokens.find('tok_3'), null)
})

test('a token’s answer is kept until anything is written, and what another process writes holds at once', async (t) => {
  const { store, file } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  await addToken(store, 'tok_1', 'ci')
  const first = await store.tokens.authenticate('hash of tok_1')
  assert.equal(await store.tokens.authenticate('hash of tok_1'), first)

  await store.transaction((tx) => tx.tokens.touch(new Map([['tok_1', '2026-01-01T00:00:05.000Z']])))
  assert.equal((await store.tokens.authenticate('hash of tok_1'))?.token.lastUsedAt, '2026-01-01T00:00:05.000Z')

  const other = new DatabaseSync(file, { timeout: 5000 })
  t.after(() => other.close())
  other.exec("update users set role = 'read'")
  assert.equal((await store.tokens.authenticate('hash of tok_1'))?.owner.role, 'read')
  other.exec('begin; update users set disabled = 1')
  assert.notEqual(await store.tokens.authenticate('hash of tok_1'), null)
  other.exec('commit')
  assert.equal(await store.tokens.authenticate('hash of tok_1'), null)
  other.exec("update users set disabled = 0; delete from tokens where id = 'tok_1'")
  assert.equal(await store.tokens.authenticate('hash of tok_1'), null)
})

test('a token is recalled in the same turn while its answer holds, and only then', async (t) => {
  const { store, file, clock } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  await addToken(store, 'tok_1', 'ci', '2026-01-01T01:00:00Z')
  const recall = () => store.tokens.recall('hash of tok_1')
  assert.equal(recall(), undefined)
  const known = await store.tokens.authenticate('hash of tok_1')
  assert.equal(recall(), known)

  await store.transaction((tx) => tx.users.update('usr_1', { role: 'read' }))
  assert.equal(recall(), undefined)
  await store.tokens.authenticate('hash of tok_1')
  assert.equal(recall()?.owner.role, 'read')

  const other = new DatabaseSync(file, { timeout: 5000 })
  t.after(() => other.close())
  other.exec("update users set role = 'admin'")
  assert.equal(recall(), undefined)
  // Asked for at one version and answered at a newer one: the answer is not kept.
  const asked = store.tokens.authenticate('hash of tok_1')
  other.exec("update users set role = 'read'")
  assert.equal(recall(), undefined)
  await asked
  assert.equal(recall(), undefined)

  await store.tokens.authenticate('hash of tok_1')
  clock.pass(hour)
  assert.equal(recall(), undefined)
  assert.equal(await store.tokens.authenticate('hash of tok_1'), null)
})

test('a token that was not found is found as soon as it is there', async (t) => {
  const { store } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  assert.equal(await store.tokens.authenticate('hash of tok_1'), null)
  await addToken(store, 'tok_1', 'ci')
  assert.equal((await store.tokens.authenticate('hash of tok_1'))?.token.id, 'tok_1')
})

test('a token’s name is unique for its owner; tokens are listed in order and remember their last use', async (t) => {
  const { store } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  for (const number of [1, 2, 3]) await addToken(store, `tok_${number}`, `name ${number}`)
  await assert.rejects(
    addToken(store, 'tok_4', 'name 1'),
    (error: unknown) => error instanceof TakenError && error.what === 'token name' && error.holder === 'tok_1',
  )
  const ids = async (options: { limit: number; cursor?: string }) =>
    (await store.tokens.of('usr_1', options)).map((token) => token.id)
  assert.deepEqual(await ids({ limit: 2 }), ['tok_1', 'tok_2'])
  assert.deepEqual(await ids({ limit: 2, cursor: 'tok_2' }), ['tok_3'])
  await store.transaction((tx) =>
    tx.tokens.touch(
      new Map([
        ['tok_1', '2026-01-01T00:00:05.000Z'],
        ['tok_gone', '2026-01-01T00:00:05.000Z'],
      ]),
    ),
  )
  assert.equal((await store.tokens.find('tok_1'))?.lastUsedAt, '2026-01-01T00:00:05.000Z')
  assert.equal((await store.tokens.find('tok_2'))?.lastUsedAt, null)
})

test('authenticating a token is quick enough for every request', async (t) => {
  const { store } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  for (let number = 0; number < 50; number += 1) await addToken(store, `tok_${number}`, `name ${number}`)
  const rounds = 5000
  const bestOf = async (hashOf: (number: number) => string) => {
    let best = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const began = performance.now()
      for (let number = 0; number < rounds; number += 1) {
        const hash = hashOf(number)
        if (store.tokens.recall(hash) === undefined) await store.tokens.authenticate(hash)
      }
      best = Math.min(best, ((performance.now() - began) * 1000) / rounds)
    }
    return best
  }
  const known = await bestOf((number) => `hash of tok_${number % 50}`)
  // Nothing is kept of these, so each is a look-up.
  const unknown = await bestOf((number) => `hash of nobody ${number % 50}`)
  t.diagnostic(`${known.toFixed(1)} µs, unknown ${unknown.toFixed(1)} µs`)
  // Below 7 µs on a quiet machine; the bar leaves room for a busy one and still catches a compiled query per request.
  assert.ok(known < 40 && unknown < 40, `${known} µs, ${unknown} µs`)
})

test('how long a session lasts can change while it does', async (t) => {
  let limits = { idleMs: 10 * hour, ageMs: 20 * hour }
  const { store, clock } = await tempStore(t, { sessionLimits: () => limits })
  await addUser(store, 'usr_1', 'ada')
  await addSession(store, 'ses_1', new Date(clock.time + 1000 * hour).toISOString())
  const alive = async () => (await store.sessions.byKey('key of ses_1')) !== null
  clock.pass(9 * hour)
  assert.ok(await alive())
  limits = { idleMs: 8 * hour, ageMs: 20 * hour }
  assert.ok(!(await alive()))
  limits = { idleMs: 10 * hour, ageMs: 8 * hour }
  assert.ok(!(await alive()))
  limits = { idleMs: 10 * hour, ageMs: 20 * hour }
  assert.ok(await alive())
})

test('a session ends at its end, after idling, after seven days, and with its user', async (t) => {
  const { store, clock } = await tempStore(t)
  const user = await addUser(store, 'usr_1', 'ada')
  const far = new Date(clock.time + 1000 * hour).toISOString()
  const session = await addSession(store, 'ses_1', far)
  const alive = async (id: string) => (await store.sessions.byKey(`key of ${id}`)) !== null
  assert.deepEqual(await store.sessions.byKey('key of ses_1'), { session, user })
  assert.deepEqual(await store.sessions.byId('ses_1'), { session, user })
  assert.equal(await store.sessions.byKey('cookie of ses_1'), null)

  clock.pass(sessionIdleMs - 1)
  assert.ok(await alive('ses_1'))
  await store.transaction((tx) => tx.sessions.touch('ses_1'))
  clock.pass(sessionIdleMs - 1)
  assert.ok(await alive('ses_1'))
  clock.pass(1)
  assert.ok(!(await alive('ses_1')))

  await addSession(store, 'ses_2', new Date(clock.time + hour).toISOString())
  clock.pass(hour)
  assert.ok(!(await alive('ses_2')))

  await addSession(store, 'ses_3', far)
  for (let passed = 0; passed < 7 * 24; passed += 8) {
    assert.ok(await alive('ses_3'))
    await store.transaction((tx) => tx.sessions.touch('ses_3'))
    clock.pass(8 * hour)
  }
  assert.ok(!(await alive('ses_3')))
  clock.pass(1)
  assert.ok(!(await alive('ses_3')))

  await addSession(store, 'ses_4', far)
  await store.transaction((tx) => tx.users.update('usr_1', { disabled: true }))
  assert.ok(!(await alive('ses_4')))
})

test('a user’s sessions are listed while they live, and ended one by one or all but one', async (t) => {
  const { store, clock } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  await addUser(store, 'usr_2', 'bob')
  const soon = new Date(clock.time + hour).toISOString()
  await addSession(store, 'ses_0', new Date(clock.time + 1).toISOString())
  for (const number of [1, 2, 3]) await addSession(store, `ses_${number}`, soon)
  await addSession(store, 'ses_9', soon, 'usr_2')
  clock.pass(1)
  const ids = async (user: string) => (await store.sessions.of(user)).map((session) => session.id)
  assert.deepEqual(await ids('usr_1'), ['ses_1', 'ses_2', 'ses_3'])
  await store.transaction((tx) => tx.sessions.delete('ses_1'))
  await store.transaction((tx) => tx.sessions.deleteOfUser('usr_1', 'ses_3'))
  assert.deepEqual(await ids('usr_1'), ['ses_3'])
  await store.transaction((tx) => tx.sessions.deleteOfUser('usr_1'))
  assert.deepEqual(await ids('usr_1'), [])
  assert.deepEqual(await ids('usr_2'), ['ses_9'])
})

test('a ticket begins once and in time, is kept for the hour of a download, and goes with its session', async (t) => {
  const { store, clock } = await tempStore(t)
  await addUser(store, 'usr_1', 'ada')
  await addSession(store, 'ses_1', new Date(clock.time + 10 * hour).toISOString())
  const add = (hash: string) =>
    store.transaction((tx) => tx.tickets.insert({ hash, session: 'ses_1', target: '/api/v1/events' }))
  const begin = (hash: string) => store.transaction((tx) => tx.tickets.begin(hash))
  await add('one')
  await add('two')
  assert.equal((await store.tickets.find('one'))?.begunAt, null)
  clock.pass(ticketBeginMs)
  assert.deepEqual(await Promise.all([begin('one'), begin('one')]), [true, false])
  clock.pass(1)
  assert.equal(await begin('two'), false)
  assert.equal(await begin('three'), false)

  clock.pass(ticketDownloadMs - 1)
  await add('four')
  assert.equal((await store.tickets.find('one'))?.target, '/api/v1/events')
  clock.pass(1)
  await add('five')
  assert.equal(await store.tickets.find('one'), null)
  await store.transaction((tx) => tx.sessions.deleteAll())
  assert.equal(await store.tickets.find('five'), null)
})
