import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { createSessionCookie } from '../src/access/session-cookie.ts'
import { endSessionsOfOtherOrigin, instanceId } from '../src/access/session-origin.ts'
import { auditOf, openTestHttpApp, password, type TestHttpApp, testCookie, ticketed } from './http-support.ts'

const file = Buffer.from('0123456789'.repeat(20))

/** An HTTP app with one download that can go on, and a view. */
function openHttpApp(t: Parameters<typeof openTestHttpApp>[0], settings = {}) {
  return openTestHttpApp(t, {
    settings,
    handlers: {
      getMailSource: async () => ({
        status: 200,
        headers: { 'content-type': 'message/rfc822' },
        stream: chunks(file),
        length: file.length,
        etag: 'one',
      }),
      getMailHtml: async () => ({ status: 200, headers: { 'content-type': 'text/html' }, json: '<p>hello' }),
    },
  })
}

const mail = '/projects/shop/mail/0000000000000000000000000000000a'
const source = `${mail}/source`
const view = `${mail}/html?images=remote`

test('who has the cookie of a session, and all headers he can write, is nobody', async (t) => {
  const http = await openHttpApp(t)
  await http.project('shop')
  const address = await http.listen()
  const { cookie } = await http.session('ada')
  const stolen = cookie.slice(cookie.indexOf('=') + 1)
  for (const forged of [
    {},
    { 'x-csrf-token': '' },
    { 'x-csrf-token': stolen },
    { 'x-csrf-token': 'a'.repeat(43) },
    { origin: address, referer: `${address}/`, 'sec-fetch-site': 'same-origin', 'x-stackquay-client': 'ui' },
  ] as const) {
    const headers = { ...forged, cookie, 'content-type': 'application/json' }
    const status = async (method: string, path: string, body?: object) => {
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      return (await fetch(`${address}/api/v1${path}`, { method, headers, ...init })).status
    }
    assert.equal(await status('GET', '/auth/me'), 401)
    assert.equal(await status('GET', '/projects'), 401)
    assert.equal(await status('GET', source), 401)
    assert.equal(await status('GET', `${source}?ticket=${stolen}`), 401)
    assert.equal(await status('POST', '/tokens', { name: 'mine', scope: 'admin' }), 401)
    assert.equal(await status('POST', '/auth/tickets', { path: `/api/v1${source}` }), 401)
    assert.equal(await status('POST', '/auth/logout'), 401)
    for (const path of ['/events/ws', `/events/ws?ticket=${stolen}`, '/projects/shop/exec/ws'])
      assert.equal(await upgradeStatus(address, path, headers), 401, path)
  }
  assert.equal((await http.store.tokens.of((await http.store.users.byName('ada'))!.id, { limit: 10 })).length, 0)
})

test('the key is told by login and set-up alone, and neither half is stored', async (t) => {
  const http = await openHttpApp(t)
  const { cookie, csrfToken, headers } = await http.session('ada')
  const me = await http.app.inject({ url: '/api/v1/auth/me', headers })
  assert.deepEqual(Object.keys(me.json()), ['kind', 'user', 'userId', 'role', 'projects', 'projectRoles'])
  const sessions = await http.app.inject({ url: '/api/v1/auth/sessions', headers })
  const halves = [csrfToken, cookie.slice(cookie.indexOf('=') + 1)]
  for (const half of halves) assert.ok(!`${me.body}${sessions.body}`.includes(half))
  const row = (await http.store.sessions.of(me.json().userId))[0]
  for (const half of halves) assert.ok(!JSON.stringify(row).includes(half))
})

test('of several cookies of the name the one counts that belongs to the key, however many were tossed in front', async (t) => {
  const http = await openHttpApp(t)
  const mine = await http.session('ada')
  const eve = await http.user('read', 'eve')
  const hers = await http.openSession(eve.id)
  const tossed = (count: number) =>
    Array.from({ length: count }, (_, index) => testCookie.line(`tossed-${index}`).split(';')[0]!)
  const who = async (cookies: readonly string[], key: string) => {
    const headers = { cookie: cookies.join('; '), 'x-csrf-token': key }
    const answer = await http.app.inject({ url: '/api/v1/auth/me', headers })
    return answer.statusCode === 200 ? answer.json().user : answer.statusCode
  }
  // Browsers send longer paths first, so what is tossed stands in front of what counts.
  for (const count of [1, 7, 8, 100]) assert.equal(await who([...tossed(count), mine.cookie], mine.csrfToken), 'ada')
  assert.equal(await who([hers.cookie, mine.cookie], mine.csrfToken), 'ada')
  assert.equal(await who([mine.cookie, hers.cookie], mine.csrfToken), 'ada')
  assert.equal(await who([hers.cookie], mine.csrfToken), 401)
  assert.equal(await who([mine.cookie, ...tossed(8)], mine.csrfToken), 401, 'no more than eight are looked at')
  const answer = await http.app.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    headers: { cookie: tossed(100).join('; ') },
    payload: { username: 'ada', password },
  })
  assert.equal(answer.statusCode, 200)
})

test('two instances on one host have cookies of their own, and an instance keeps its name', async (t) => {
  const [one, other] = [await openHttpApp(t), await openHttpApp(t)]
  const id = await instanceId(one.store)
  assert.match(id, /^[0-9a-f]{8}$/)
  assert.equal(await instanceId(one.store), id)
  assert.notEqual(await instanceId(other.store), id)
  const line = createSessionCookie(id).line('secret')
  assert.match(line, new RegExp(`^stackquay_session_${id}=secret; Path=/; HttpOnly; SameSite=Strict; `))
  assert.deepEqual(createSessionCookie('other').secretsIn(line.split(';')[0], false), [])
  assert.deepEqual(createSessionCookie(id).secretsIn('__Host-x=1', true), [])
})

test('over TLS only the cookie counts that no other program of the host can set', async (t) => {
  const http = await openHttpApp(t, { baseUrl: 'https://quay.example.org' })
  const { cookie, headers } = await http.session('ada')
  assert.match(cookie, /^__Host-stackquay_session_test=/)
  const me = async (sent: string) =>
    (await http.app.inject({ url: '/api/v1/auth/me', headers: { ...headers, host: 'quay.example.org', cookie: sent } }))
      .statusCode
  assert.equal(await me(cookie), 200)
  assert.equal(await me(cookie.slice('__Host-'.length)), 401)
})

test('a changed address ends all sessions at the start, and says so in the audit log', async (t) => {
  const http = await openHttpApp(t)
  const { headers } = await http.session('ada')
  const me = async () => (await http.app.inject({ url: '/api/v1/auth/me', headers })).statusCode
  assert.equal(await endSessionsOfOtherOrigin(http.store, 'http://127.0.0.1:8700'), 0)
  assert.equal(await endSessionsOfOtherOrigin(http.store, 'http://127.0.0.1:8700'), 0)
  assert.equal(await me(), 200)
  assert.equal(await endSessionsOfOtherOrigin(http.store, 'http://127.0.0.1:8701'), 1)
  assert.equal(await me(), 401)
  const [entry] = await auditOf(http.store, 'success', 1)
  assert.deepEqual(
    [entry?.actor, entry?.action, entry?.changes],
    [
      'system',
      'session.end_all',
      { before: { origin: 'http://127.0.0.1:8700', sessions: 1 }, after: { origin: 'http://127.0.0.1:8701' } },
    ],
  )
})

test('a ticket opens its address once, in time, for its session and with its cookie', async (t) => {
  const http = await openHttpApp(t)
  const ada = await http.session('ada')
  const eve = await http.session((await http.user('operate', 'eve')).username)
  const open = async (path: string, headers: Record<string, string> = { cookie: ada.cookie }) => {
    const answer = await http.app.inject({ url: `/api/v1${path}`, headers })
    return answer.statusCode === 200 ? 200 : `${answer.statusCode} ${answer.json().code}: ${answer.json().detail}`
  }
  const fresh = () => ticketed(http, ada.headers, view)
  const refused = '401 ticket_invalid: '
  const used = await fresh()
  assert.equal(await open(used), 200)
  assert.equal(await open(used), `${refused}The ticket was used already.`)

  const notHers = await fresh()
  const stranger = `${refused}The ticket is not one of this session, or its time is over.`
  assert.equal(await open(notHers, { cookie: eve.cookie }), stranger)
  assert.equal(await open(notHers, {}), stranger)
  assert.equal(await open(notHers), 200, 'a refusal uses nothing up')

  const elsewhere = (await fresh()).split('ticket=')[1]!
  for (const path of [
    `${mail}/html?ticket=${elsewhere}`,
    `${mail}/html?images=embedded&ticket=${elsewhere}`,
    `/projects/shop/mail/0000000000000000000000000000000b/html?images=remote&ticket=${elsewhere}`,
    `${source}?ticket=${elsewhere}`,
  ])
    assert.equal(await open(path), `${refused}The ticket was made for another address.`)
  assert.equal(await open(`/projects?ticket=${elsewhere}`), `${refused}No ticket opens this address.`)
  assert.equal(await open(`${view}&ticket=${elsewhere}&ticket=${elsewhere}`), stranger)
  for (const site of ['same-site', 'cross-site'])
    assert.match(
      String(await open(`${view}&ticket=${elsewhere}`, { cookie: ada.cookie, 'sec-fetch-site': site })),
      /^403 csrf_failed/,
    )
  assert.equal(await open(`${mail}/html?ticket=${elsewhere}&images=remote`), 200, 'wherever it stands')

  const late = await fresh()
  http.clock.time += 30_001
  assert.equal(await open(late), `${refused}The ticket is older than 30 seconds.`)

  const two = await fresh()
  assert.deepEqual((await Promise.all([open(two), open(two)])).sort(), [200, `${refused}The ticket was used already.`])

  const gone = await fresh()
  await http.app.inject({ method: 'POST', url: '/api/v1/auth/logout', headers: ada.headers })
  assert.equal(await open(gone), stranger)
})

test('a ticket is made for a stream, a view or a download of this service, and by a session alone', async (t) => {
  const http = await openHttpApp(t)
  const { headers } = await http.session('ada')
  const make = (path: unknown, sent: Record<string, string> = headers) =>
    http.app.inject({ method: 'POST', url: '/api/v1/auth/tickets', headers: sent, payload: { path } as object })
  for (const path of [
    '/api/v1/projects',
    '/api/v1/tokens',
    '/projects/shop/logs/download',
    'api/v1/events/ws',
    '//elsewhere.test/api/v1/events/ws',
    'https://elsewhere.test/api/v1/events/ws',
    '/api/v1/events/ws?ticket=x',
    '/api/v1/events/ws#x',
    '/api/v1/projects/shop/../events/nowhere',
  ]) {
    const answer = await make(path)
    assert.equal(answer.statusCode, 422, path)
    assert.equal(answer.json().errors[0].code, 'takes_no_ticket')
  }
  const made = await make('/api/v1/events/ws?after=3')
  assert.equal(made.statusCode, 201)
  assert.equal(Date.parse(made.json().expiresAt), http.clock.time + 30_000)
  const { value } = await http.token()
  const byToken = await make('/api/v1/events/ws', { authorization: `Bearer ${value}` })
  assert.equal(byToken.json().code, 'session_required')
  assert.equal((await make('/api/v1/events/ws', { ...headers, origin: 'http://127.0.0.1:9' })).statusCode, 403)
})

test('a download goes on under its ticket by range for an hour, and not without If-Range', async (t) => {
  const http = await openHttpApp(t)
  const { cookie, headers } = await http.session('ada')
  const path = `/api/v1${await ticketed(http, headers, source)}`
  const get = (more: Record<string, string> = {}) => http.app.inject({ url: path, headers: { cookie, ...more } })
  const whole = await get()
  assert.deepEqual(
    [whole.statusCode, whole.headers['accept-ranges'], whole.headers.etag, whole.headers['content-length']],
    [200, 'bytes', '"one"', '200'],
  )
  assert.deepEqual(whole.rawPayload, file)
  assert.equal((await get()).statusCode, 401)
  assert.equal((await get({ range: 'bytes=150-' })).statusCode, 401)
  const rest = await get({ range: 'bytes=150-', 'if-range': '"one"' })
  assert.deepEqual([rest.statusCode, rest.headers['content-range']], [206, 'bytes 150-199/200'])
  assert.deepEqual(rest.rawPayload, file.subarray(150))
  assert.equal((await get({ range: 'bytes=150-', 'if-range': '"two"' })).statusCode, 200, 'another file is sent whole')
  assert.equal((await get({ range: 'bytes=200-', 'if-range': '"one"' })).statusCode, 416)
  http.clock.time += 3_600_000
  assert.equal((await get({ range: 'bytes=-5', 'if-range': '"one"' })).body, '56789')
  http.clock.time += 1
  const late = await get({ range: 'bytes=150-', 'if-range': '"one"' })
  assert.equal(late.json().detail, 'The download began more than an hour ago.')
})

test('a view and a stream never go on under their ticket', async (t) => {
  const http = await openHttpApp(t)
  const address = await http.listen()
  const { cookie, headers } = await http.session('ada')
  const resume = { cookie, range: 'bytes=1-', 'if-range': '"one"' }
  const shown = `/api/v1${await ticketed(http, headers, view)}`
  assert.equal((await http.app.inject({ url: shown, headers: resume })).statusCode, 200)
  assert.equal((await http.app.inject({ url: shown, headers: resume })).statusCode, 401)
  const stream = await ticketed(http, headers, '/events/ws')
  assert.equal(await upgradeStatus(address, stream, { cookie }), 101)
  assert.equal(await upgradeStatus(address, stream, resume), 401)
  const sse = await fetch(`${address}/api/v1${await ticketed(http, headers, '/events')}`, { headers: { cookie } })
  assert.equal(sse.status, 200)
  await sse.body?.cancel()
})

test('an open stream ends with its session, although its ticket is long over', async (t) => {
  const http = await openHttpApp(t)
  const address = await http.listen()
  const { cookie, headers } = await http.session('ada')
  const path = await ticketed(http, headers, '/events/ws')
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/v1${path}`, { headers: { cookie } })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await new Promise((resolve) => socket.once('message', resolve))
  http.clock.time += 60_000
  await new Promise((resolve) => setTimeout(resolve, 700))
  assert.equal(socket.readyState, WebSocket.OPEN)
  await http.app.inject({ method: 'POST', url: '/api/v1/auth/logout', headers })
  assert.equal(await closed, 4401)
})

test('what a program sends beyond the announced length never leaves', async (t) => {
  const reply = (length: number) => async () => ({ status: 200, stream: chunks(file), length, etag: 'x' })
  const http = await openTestHttpApp(t, { handlers: { getMailSource: reply(12), getRunOutput: reply(500) } })
  const address = await http.listen()
  const { headers } = await http.session('ada')
  assert.equal(await (await fetch(`${address}/api/v1${source}`, { headers })).text(), '012345678901')
  // One that ends early breaks the connection instead of waiting for ever.
  await assert.rejects(async () => (await fetch(`${address}/api/v1/projects/x/runs/y/output`, { headers })).text())
})

test('a ticket is in no log, no problem, no audit entry and no stored row', async (t) => {
  const http = await openTestHttpApp(t, {
    handlers: {
      getMailSource: async () => {
        throw new Error('broken')
      },
    },
  })
  const { cookie, headers } = await http.session('ada')
  const path = await ticketed(http, headers, source)
  const ticket = path.split('ticket=')[1]!
  const answers = [
    await http.app.inject({ url: `/api/v1${path}`, headers: { cookie } }),
    await http.app.inject({ url: `/api/v1${path}`, headers: { cookie } }),
    await http.app.inject({ url: `/nowhere?ticket=${ticket}`, headers: { cookie } }),
    await http.app.inject({ method: 'DELETE', url: `/api/v1/tokens/x?ticket=${ticket}`, headers: { cookie } }),
  ]
  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [500, 401, 404, 401],
  )
  const audit = await auditOf(http.store, 'denied', 1)
  assert.equal(audit.length, 1)
  assert.equal(http.errors.length, 1)
  const told = JSON.stringify([answers.map(({ body, headers: sent }) => [body, sent]), audit, http.errors])
  assert.ok(!told.includes(ticket))
  await assertNotInDatabase(http, ticket)
})

async function assertNotInDatabase(http: TestHttpApp, secret: string): Promise<void> {
  const folder = dirname(http.database)
  for (const name of ['state.db', 'state.db-wal'])
    assert.ok(!(await readFile(join(folder, name)).catch(() => Buffer.alloc(0))).includes(secret), name)
}

function upgradeStatus(address: string, path: string, headers: Record<string, string>): Promise<number> {
  const { 'content-type': _, ...sent } = headers
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/v1${path}`, { headers: sent })
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.close()
      resolve(101)
    })
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    socket.once('error', reject)
  })
}

async function* chunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += 7) yield bytes.subarray(from, from + 7)
}
