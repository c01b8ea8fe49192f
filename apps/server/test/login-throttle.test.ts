import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createPasswordQueue } from '../src/access/password-queue.ts'
import { createThrottle, networkOf } from '../src/access/throttle.ts'
import { auditOf, openTestHttpApp, password, type TestHttpApp } from './http-support.ts'

interface Attempt {
  readonly password?: string
  readonly deviceKey?: string
  readonly from?: string
  readonly username?: string
}

const login = (http: TestHttpApp, { password: given = password, deviceKey, from, username = 'ada' }: Attempt = {}) =>
  http.app.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    payload: { username, password: given, ...(deviceKey === undefined ? {} : { deviceKey }) },
    ...(from === undefined ? {} : { remoteAddress: from }),
  })
const wrong = { password: 'wrong password' }

async function fail(http: TestHttpApp, times: number, attempt: Attempt = {}): Promise<number[]> {
  const statuses: number[] = []
  for (let turn = 0; turn < times; turn++) statuses.push((await login(http, { ...wrong, ...attempt })).statusCode)
  return statuses
}

test('a stranger who guesses keeps out neither a browser that logged in before nor people of other networks', async (t) => {
  const http = await openTestHttpApp(t)
  const { deviceKey } = (await login(http, { from: '127.0.0.1' })).json()
  assert.match(deviceKey, /^[\w-]{43}$/)
  assert.deepEqual(await fail(http, 8), [401, 401, 401, 401, 401, 429, 429, 429])
  assert.equal((await login(http)).statusCode, 429, 'a new browser of the same network waits')
  const known = await login(http, { deviceKey })
  assert.equal(known.statusCode, 200, known.body)
  assert.equal(known.json().deviceKey, undefined, 'the key is told once')
  assert.equal((await login(http, { from: '203.0.113.9' })).statusCode, 200)
  assert.equal((await login(http, { username: 'ADA', ...wrong })).statusCode, 429, 'another spelling is the same name')
})

test('a stranger who makes up device keys, or brings the key of another person, has no counter of his own', async (t) => {
  const http = await openTestHttpApp(t)
  await http.user('operate', 'eve')
  const { deviceKey } = (await login(http, { username: 'eve' })).json()
  const statuses: number[] = []
  for (let turn = 0; turn < 6; turn++) {
    const key = turn % 2 === 0 ? deviceKey : `made up ${turn}`
    statuses.push((await login(http, { ...wrong, deviceKey: key })).statusCode)
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
})

test('a device key saves nobody the password, and its own failures count', async (t) => {
  const http = await openTestHttpApp(t)
  const { deviceKey } = (await login(http)).json()
  assert.deepEqual(await fail(http, 6, { deviceKey }), [401, 401, 401, 401, 401, 429])
  assert.equal((await login(http, { deviceKey })).headers['retry-after'], '30')
  assert.equal((await login(http)).statusCode, 200, 'a new browser has another counter')
})

test('answers wait 1, 2, 4 and 8 seconds, then the counter is closed, twice as long each time', async (t) => {
  const http = await openTestHttpApp(t)
  // All at once: parallel attempts must not slip through together.
  const failures = await Promise.all(Array.from({ length: 8 }, () => login(http, wrong)))
  assert.deepEqual(failures.map(({ statusCode }) => statusCode).sort(), [401, 401, 401, 401, 401, 429, 429, 429])
  assert.deepEqual(http.waits, [1000, 2000, 4000, 8000])
  const blocked = await login(http)
  assert.equal(blocked.json().code, 'throttled')
  assert.equal(blocked.headers['retry-after'], '30')
  assert.equal(blocked.headers.ratelimit, '"failures";r=0;t=30')
  assert.equal(blocked.headers['ratelimit-policy'], '"failures";q=5;w=900')
  http.clock.time += 30_000
  assert.equal((await login(http, wrong)).statusCode, 401)
  assert.equal((await login(http)).headers['retry-after'], '60')
  http.clock.time += 60_000
  assert.equal((await login(http)).statusCode, 200)
  assert.equal((await login(http, wrong)).statusCode, 401, 'a success forgets the failures')
})

test('names that do not exist are throttled like those that do', async (t) => {
  const http = await openTestHttpApp(t)
  const unknown = await fail(http, 7, { username: 'nobody' })
  const waits = http.waits.splice(0)
  assert.deepEqual(unknown, await fail(http, 7))
  assert.deepEqual(waits, http.waits)
})

test('guessing a thousand names writes a few audit entries and a count', async (t) => {
  const http = await openTestHttpApp(t)
  for (let turn = 0; turn < 40; turn++) await login(http, { ...wrong, username: `name-${turn}` })
  assert.equal((await auditOf(http.store, 'denied', 5)).length, 5)
})

test('a new password, and logging out everywhere, end the device keys; each ends by itself too', async (t) => {
  const http = await openTestHttpApp(t)
  const session = await http.session('ada')
  const headers = { ...session.headers, 'sec-fetch-site': 'same-origin' }
  const send = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) =>
    http.app.inject({ method, url: `/api/v1${path}`, headers, ...(payload === undefined ? {} : { payload }) })
  const known = async () => (await send('GET', '/auth/devices')).json().items
  const newKey = async () => (await login(http)).json().deviceKey
  const keyWorks = async (deviceKey: string) => (await login(http, { deviceKey })).json().deviceKey === undefined

  const key = await newKey()
  assert.ok(await keyWorks(key))
  const { id } = (await known()).at(-1)
  assert.match(id, /^dev_/)
  assert.ok(!JSON.stringify(await known()).includes(key))
  assert.equal((await send('DELETE', `/auth/devices/${id}`)).statusCode, 204)
  assert.ok(!(await keyWorks(key)))
  const second = await newKey()
  assert.equal((await send('DELETE', '/auth/sessions')).statusCode, 200)
  assert.ok(!(await keyWorks(second)))
  const third = await newKey()
  const changed = await send('POST', '/auth/password', { current: password, new: 'another good password' })
  assert.equal(changed.statusCode, 204, changed.body)
  assert.deepEqual(await known(), [])
  const again = await login(http, { password: 'another good password', deviceKey: third })
  assert.notEqual(again.json().deviceKey, undefined)
  const [entry] = await auditOf(http.store, 'success', 1)
  assert.deepEqual(entry?.changes, { after: { device: (await known())[0].id } })
  assert.ok(!JSON.stringify(await http.store.audit.list({ limit: 100 })).includes(again.json().deviceKey))
})

test('a user’s device keys are not without number', async (t) => {
  const http = await openTestHttpApp(t)
  const { id } = (await http.store.users.byName('ada'))!
  const first = (await login(http)).json().deviceKey
  for (let turn = 0; turn < 60; turn++) {
    http.clock.time += 1000
    const device = { id: `dev_${turn}`, hash: `hash ${turn}`, user: id, ip: null, userAgent: null }
    await http.store.transaction((tx) => tx.devices.insert(device))
  }
  assert.equal((await http.store.devices.of(id)).length, 50)
  assert.notEqual((await login(http, { deviceKey: first })).json().deviceKey, undefined)
})

test('who has taken a session cannot guess the password without end, and spoils that session alone', async (t) => {
  const http = await openTestHttpApp(t)
  const taken = await http.session('ada')
  const own = await http.session('ada')
  const ask = (headers: object, path: string, payload: object) =>
    http.app.inject({
      method: 'POST',
      url: `/api/v1${path}`,
      headers: { ...headers, 'sec-fetch-site': 'same-origin' },
      payload,
    })
  for (let turn = 0; turn < 5; turn++) {
    const answer = await ask(taken.headers, '/settings/secret-key/reveal', wrong)
    assert.equal(answer.json().code, 'login_failed')
  }
  assert.equal((await ask(taken.headers, '/settings/secret-key/replace', { password })).json().code, 'throttled')
  const change = { current: password, new: 'another good password' }
  assert.equal((await ask(taken.headers, '/auth/password', change)).json().code, 'throttled')
  assert.equal((await ask(own.headers, '/auth/password', change)).statusCode, 204)
})

test('strangers who fill the queue of passwords are refused before a known browser is', async () => {
  const queue = createPasswordQueue({ places: 2, maxWaiting: 32 })
  const hold = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  const order: string[] = []
  const work = (name: string) => async () => {
    most = Math.max(most, ++running)
    await hold.promise
    running--
    order.push(name)
  }
  const strangers = Array.from({ length: 40 }, () => queue.run(work('stranger'), 'ordinary'))
  const settled = Promise.allSettled(strangers)
  const known = queue.run(work('known'), 'known')
  hold.resolve()
  await known
  const refused = (await settled).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  assert.equal(refused.length, 7, 'two run, 32 wait, one of which gave its place')
  assert.deepEqual([...new Set(refused.map(({ code }) => code))], ['unavailable'])
  assert.equal(refused[0].headers['retry-after'], '5')
  assert.equal(most, 2)
  assert.equal(order.indexOf('known'), 2, 'a known browser is next')
})

test('a million made-up names take bounded memory and open no counter that is closed', async () => {
  const signal = new AbortController().signal
  const throttle = createThrottle({ now: () => 0, wait: async () => {}, maxKeys: 1000 })
  for (let turn = 0; turn < 5; turn++) await throttle.attempt('ada 127.0.0.0/24', signal)
  const before = usedHeap()
  for (let turn = 0; turn < 1_000_000; turn++) await throttle.attempt(`name ${turn}`, signal)
  assert.ok(usedHeap() - before < 20e6)
  await assert.rejects(throttle.attempt('ada 127.0.0.0/24', signal), { code: 'throttled' })
})

test('attempts that wait are not without number, and one whose caller goes away waits no longer', async () => {
  const throttle = createThrottle({ maxWaiting: 3 })
  const life = new AbortController()
  const keys = ['a', 'b', 'c', 'd']
  for (const key of keys) await throttle.attempt(key, life.signal)
  const held = keys.slice(0, 3).map((key) => throttle.attempt(key, life.signal))
  const ended = Promise.allSettled(held)
  await assert.rejects(throttle.attempt('d', life.signal), { code: 'throttled' })
  life.abort()
  const codes = (await ended).map((one) => (one.status === 'rejected' ? one.reason.code : 'waited'))
  assert.deepEqual(codes, ['aborted', 'aborted', 'aborted'])
})

test('the throttle grows to a quarter of an hour and forgets after one', async () => {
  let now = 0
  const { signal } = new AbortController()
  const throttle = createThrottle({ now: () => now, wait: async () => {} })
  const waits: number[] = []
  for (let turn = 0; turn < 12; turn++) {
    const seconds = await throttle.attempt('a', signal).then(
      () => 0,
      (error) => Number(error.headers['retry-after']),
    )
    if (seconds > 0) waits.push(seconds)
    now += seconds * 1000
  }
  assert.deepEqual(waits.slice(0, 3), [30, 60, 120])
  assert.ok(waits.every((wait) => wait <= 900))
  now += 31 * 60_000
  for (let turn = 0; turn < 5; turn++) await throttle.attempt('a', signal)
})

test('a network is one /24 of IPv4, also when it is mapped, and one /64 of IPv6', () => {
  assert.equal(networkOf('2001:db8:0:1::5'), networkOf('2001:db8::1:ffff:0:0:9'))
  assert.notEqual(networkOf('2001:db8:0:1::5'), networkOf('2001:db8:0:2::5'))
  assert.equal(networkOf('10.0.0.1'), networkOf('::ffff:10.0.0.200'))
  assert.notEqual(networkOf('10.0.0.1'), networkOf('10.0.1.1'))
})

function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}
