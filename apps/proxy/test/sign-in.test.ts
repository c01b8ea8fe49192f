import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { createCodes, parseCode } from '../src/codes.ts'
import { createProxyControl, type ProxyControl } from '../src/control.ts'
import { hostOnlyCookie } from '../src/gate/host-only.ts'
import { startProxy } from '../src/proxy.ts'
import type { RoutePass, RouteTable } from '../src/route-table.ts'
import { type Ask, ask, httpUpstream, open, route, tempHome, until, upstreamAt } from './support.ts'

// Names where one signs in: who comes in and by what, over HTTP and over an upgrade, in every process of the proxy.

const url = 'http://127.0.0.1:8700/enter'
const cookie = 'stackquay_page_abc'
const host = 'rabbitmq--shop.localhost'
const asking = 'asking.localhost'
const cors = { methods: ['GET', 'POST'], headers: [], exposeHeaders: [], maxAgeSeconds: 60 }
const asPage = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'cross-site' }

const random = () => randomBytes(32).toString('base64url')
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const passFor = (value: string, expiresAt = Date.now() + 60_000): RoutePass => ({
  id: hashOf(value).slice(0, 8),
  hash: hashOf(value),
  expiresAt,
})

let seen: IncomingHttpHeaders | null = null
let port = 0
let control: ProxyControl
let upstream = 0
let generation = 1

function tableWith(passes: readonly RoutePass[]): RouteTable {
  generation += 1
  const { project } = route('shop', upstreamAt(upstream))
  return {
    version: 1,
    generation,
    routes: [
      { hosts: [host], project, target: upstreamAt(upstream), signIn: { url, cookie, passes } },
      { hosts: ['shop.localhost'], project, target: upstreamAt(upstream) },
      {
        ...{ hosts: [asking, 'shop.example.org'], project, target: upstreamAt(upstream) },
        signIn: { url, cookie, passes },
        rules: { cors: { ...cors, origins: ['http://app.shop.localhost'], credentials: true } },
      },
      { hosts: ['feature--shop.localhost'], project: { ...project, id: 'prj_b' }, target: upstreamAt(upstream) },
    ],
    signIn: { suffix: '.localhost', url, cookie },
    trustedProxies: ['127.0.0.1'],
  }
}

const visit = (headers: Ask['headers'] = {}, more: Ask = {}) => ask(port, { host, headers, ...more })
const codeFor = (value: string, more: object = {}) => {
  const code = random()
  const rest = { host, cookie: value, path: '/', expiresAt: Date.now() + 60_000, redeemBy: Date.now() + 30_000 }
  return { code, sent: { hash: hashOf(code), ...rest, ...more } }
}
const entered = (code: string, more: Ask = {}) => visit(asPage, { path: `/.stackquay/enter?code=${code}`, ...more })

test('a name where one signs in', async (t) => {
  upstream = await httpUpstream(t, (request, response) => {
    seen = request.headers
    if (request.url === '/cookies')
      response.setHeader('set-cookie', [
        'a=1; Domain=.localhost; Path=/',
        `${cookie}=evil; Path=/`,
        `=${cookie}=evil`,
        'b=2; HttpOnly',
      ])
    if (request.url === '/policy') response.setHeader('content-security-policy', "default-src 'self'")
    if (request.url === '/slow') response.write('begin')
    else response.end('the page')
  })
  const home = await tempHome(t)
  const proxy = await startProxy({
    home,
    listen: '127.0.0.1:0',
    limits: { drainWithin: 200 },
    workers: { atOnce: 3, most: 3 },
  })
  t.after(async () => {
    await proxy.shutdown()
    await proxy.done
  })
  port = proxy.address.port
  control = createProxyControl(home)
  await control.putRoutes(tableWith([]))
  await until(async () => (await control.status())?.workers.length === 3, 'all workers listen', 20_000)

  await t.test('a stranger is sent to the page, and gets the same for a name that nobody has', async () => {
    const rows: readonly (readonly [string, Ask, number])[] = [
      ['a page', { path: '/queues?x=1', headers: asPage }, 303],
      ['a page, as old browsers ask for it', { headers: { accept: 'text/html,*/*' } }, 303],
      ['HEAD', { method: 'HEAD', headers: asPage }, 303],
      ['a program', { headers: { accept: '*/*' } }, 401],
      ['a script of a page', { headers: { accept: 'text/html', 'sec-fetch-mode': 'cors' } }, 401],
      ['a form', { method: 'POST', headers: asPage, body: 'a=1' }, 401],
      ['a code of somebody', { path: `/.stackquay/enter?code=${random()}`, headers: asPage }, 303],
      ['no code', { path: '/.stackquay/enter', headers: asPage }, 303],
    ]
    seen = null
    for (const [name, one, status] of rows) {
      const real = await ask(port, { ...one, host })
      const none = await ask(port, { ...one, host: 'nobodyxx--shop.localhost' })
      assert.equal(real.status, status, name)
      const plain = (text: string) => text.replaceAll('nobodyxx--shop', 'rabbitmq--shop')
      const { date: _one, ...own } = real.headers
      const { date: _other, ...others } = none.headers
      assert.deepEqual(JSON.parse(plain(JSON.stringify(others))), own, name)
      assert.equal(plain(none.text), real.text, name)
    }
    assert.equal(seen, null)
    const { headers } = await visit(asPage, { path: '/queues?x=1' })
    const asked = new URLSearchParams({ host, path: '/queues?x=1' })
    assert.equal(headers.location, `${url}?${asked}`)
    assert.equal((await ask(port, { host: 'a--b.c.localhost', headers: asPage })).status, 404)
    assert.equal((await ask(port, { host: 'plain.localhost', headers: asPage })).status, 404)
    assert.equal((await ask(port, { host: 'feature--shop.localhost' })).status, 200)
  })

  await t.test('a code is changed once, in whichever process, for a cookie that lets in', async () => {
    for (let round = 0; round < 12; round += 1) {
      const value = random()
      await control.putRoutes(tableWith([passFor(value)]))
      const { code, sent } = codeFor(value, { path: '/queues?x=1' })
      await control.addCode(sent)
      const all = await Promise.all([entered(code), entered(code), entered(code)])
      const good = all.filter(({ headers }) => headers['set-cookie'] !== undefined)
      assert.equal(good.length, 1)
      assert.equal(good[0]!.headers.location, '/queues?x=1')
      const line = good[0]!.headers['set-cookie']![0]!
      assert.match(line, new RegExp(`^${cookie}=${value}; Path=/; Max-Age=\\d+; HttpOnly; SameSite=Lax$`))
      assert.equal(good[0]!.headers['referrer-policy'], 'no-referrer')
      const inside = await visit({ cookie: line.split(';')[0]! })
      assert.deepEqual([inside.status, inside.text], [200, 'the page'])
    }
  })

  await t.test('over TLS the cookie has a name that no other port of the host can set', async () => {
    const value = random()
    await control.putRoutes(tableWith([passFor(value)]))
    const { code, sent } = codeFor(value)
    await control.addCode(sent)
    const overTls = { ...asPage, 'x-forwarded-proto': 'https' }
    const { headers } = await entered(code, { headers: overTls })
    const line = headers['set-cookie']![0]!
    assert.match(line, /^__Host-stackquay_page_abc=.*; Path=\/; .*; Secure$/)
    assert.equal((await visit({ ...overTls, cookie: line.split(';')[0]! })).status, 200)
    assert.equal(
      (await visit({ ...overTls, cookie: `${cookie}=${value}` })).status,
      303,
      'not by one that any port can set',
    )
    assert.match(String((await visit(overTls)).headers.location), /secure=true/)
  })

  await t.test('a code is good for its host and its time alone', async () => {
    const value = random()
    await control.putRoutes(tableWith([passFor(value)]))
    const elsewhere = codeFor(value)
    await control.addCode(elsewhere.sent)
    assert.equal((await entered(elsewhere.code, { host: 'other--shop.localhost' })).headers['set-cookie'], undefined)
    assert.equal((await entered(elsewhere.code)).headers['set-cookie'], undefined, 'it was used up')
    const late = codeFor(value, { redeemBy: Date.now() - 1 })
    await control.addCode(late.sent)
    assert.equal((await entered(late.code)).headers['set-cookie'], undefined)
    for (const path of ['//evil.example', '/\\evil.example', 'https://evil.example', '/a\r\nb: c', '/a b', '']) {
      await assert.rejects(control.addCode(codeFor(value, { path }).sent), { code: 'code_invalid' }, path)
    }
    assert.throws(() => parseCode(null))
    // Who is in already and comes back to such an address goes on to the beginning.
    const inside = await entered(late.code, { headers: { ...asPage, cookie: `${cookie}=${value}` } })
    assert.deepEqual([inside.status, inside.headers.location], [303, '/'])
  })

  await t.test('what neighbours set under its name locks nobody out, and the application sees none of it', async () => {
    const value = random()
    await control.putRoutes(tableWith([passFor(value)]))
    const others = Array.from({ length: 7 }, () => `${cookie}=${random()}`)
    const noise = [`${cookie}=`, `${cookie}=short`, 'x', '=']
    for (const all of [
      [...noise, ...others, `${cookie}=${value}`],
      [`${cookie}=${value}`, ...others, ...noise],
    ]) {
      const { status } = await visit({ cookie: ['lang=en', ...all, `__Host-${cookie}=a`, 'last=1'].join('; ') })
      assert.equal(status, 200)
      assert.match(seen!.cookie!, /^lang=en;.* last=1$/)
      assert.doesNotMatch(seen!.cookie!, /stackquay/)
    }
    await visit({ cookie: `${cookie}=${value}` })
    assert.equal(seen!.cookie, undefined)
    assert.equal((await visit({ cookie: `__Host-${cookie}=${value}` })).status, 401, 'not over plain HTTP')
    const answered = await visit({ cookie: `${cookie}=${value}` }, { path: '/cookies' })
    assert.deepEqual(answered.headers['set-cookie'], ['a=1; Path=/', 'b=2; HttpOnly'])
    const { rawHeaders } = await visit({ cookie: `${cookie}=${value}` }, { path: '/policy' })
    const policies = rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === 'content-security-policy')
    assert.deepEqual(policies, ["default-src 'self'", "frame-ancestors 'self' http://127.0.0.1:8700"])
  })

  await t.test('a neighbour may lead here and do nothing else', async () => {
    const value = random()
    await control.putRoutes(tableWith([passFor(value)]))
    const own = { cookie: `${cookie}=${value}` }
    const here = `http://${host}`
    const there = 'http://shop.localhost'
    const rows: readonly (readonly [string, string, Record<string, string>, number])[] = [
      ['its own form', 'POST', { origin: here, 'sec-fetch-site': 'same-origin' }, 200],
      ['its own form, in an old browser', 'POST', { origin: here }, 200],
      ['its own form without a referrer', 'POST', { origin: 'null', 'sec-fetch-site': 'same-origin' }, 200],
      [
        'a form of a neighbour',
        'POST',
        { origin: there, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' },
        403,
      ],
      ['a form of a neighbour, in an old browser', 'POST', { origin: there }, 403],
      ['a form of nobody', 'POST', { origin: 'null' }, 403],
      ['the same name at another port', 'POST', { origin: `${here}:1234` }, 403],
      ['one that does not say where it comes from', 'DELETE', {}, 403],
      [
        'a script of a neighbour',
        'GET',
        { origin: there, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
        403,
      ],
      ['a preflight of a neighbour', 'OPTIONS', { origin: there }, 403],
      ['a picture in a neighbour', 'GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, 403],
      ['a link of a neighbour', 'GET', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }, 200],
      ['its own script', 'GET', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, 200],
      ['an address that was typed', 'GET', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 200],
    ]
    for (const [name, method, headers, status] of rows)
      assert.equal((await visit({ ...own, ...headers }, { method })).status, status, name)

    const upgrade = (headers: object) =>
      visit({ ...own, connection: 'Upgrade', upgrade: 'websocket', ...headers } as never).then(({ status }) => status)
    assert.equal(await upgrade({ origin: there }), 403)
    assert.equal(await upgrade({}), 403)
    // The application speaks none and answers as HTTP: it was let through.
    assert.equal(await upgrade({ origin: here }), 200)
    assert.equal(
      (await visit({ connection: 'Upgrade', upgrade: 'websocket', origin: here, ...asPage })).status,
      401,
      'no stranger is sent about over an upgrade',
    )
  })

  await t.test(
    'a project that asks for a sign-in answers pages that its rules name, and those with a pass',
    async () => {
      const value = random()
      await control.putRoutes(tableWith([passFor(value)]))
      const at = (headers: Ask['headers'], more: Ask = {}) => visit(headers, { host: asking, ...more })
      const own = { cookie: `${cookie}=${value}` }
      const named = { origin: 'http://app.shop.localhost', 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }
      const preflight = { 'access-control-request-method': 'POST' }
      seen = null
      assert.equal((await at(asPage)).status, 303)
      assert.equal((await at(named)).status, 401, 'a stranger on a page that is named')
      const asked = await at({ ...named, ...preflight }, { method: 'OPTIONS' })
      assert.deepEqual([asked.status, asked.headers['access-control-allow-origin']], [204, named.origin])
      assert.equal(
        (await at({ ...named, ...preflight, origin: 'http://x.localhost' }, { method: 'OPTIONS' })).status,
        401,
      )
      assert.equal((await at(named, { method: 'OPTIONS' })).status, 401, 'no preflight')
      assert.equal(seen, null, 'nothing of it reached the application')
      assert.equal((await at(own)).status, 200)
      assert.equal((await at({ ...own, ...named }, { method: 'POST' })).status, 200)
      assert.equal((await at({ ...own, ...named, origin: 'http://x.localhost' }, { method: 'POST' })).status, 403)
      assert.equal((await at({ ...own }, { host: 'shop.example.org' })).status, 200, 'a domain of the same project')
      const upgrade = { connection: 'Upgrade', upgrade: 'websocket' }
      assert.equal((await at({ ...upgrade, origin: `http://${asking}` } as never)).status, 401)
      assert.equal((await at({ ...own, ...upgrade, origin: `http://${asking}` } as never)).status, 200)
      // A code is for the host that it was made for, and for no other name of the project.
      const { code, sent } = codeFor(value, { host: asking })
      await control.addCode(sent)
      assert.equal((await entered(code, { host: 'shop.example.org' })).headers['set-cookie'], undefined)
    },
  )

  await t.test(
    'what is open ends with the pass, by a new table and by the clock, and nothing comes in by it',
    async () => {
      for (const how of ['table', 'clock'] as const) {
        const value = random()
        const pass = passFor(value, Date.now() + (how === 'clock' ? 1_500 : 60_000))
        await control.putRoutes(tableWith([pass]))
        const answers = await Promise.all(
          Array.from({ length: 4 }, () =>
            open(port, { host, path: '/slow', headers: { cookie: `${cookie}=${value}` } }),
          ),
        )
        const ended = answers.map(
          (answer) =>
            new Promise<void>((resolve) =>
              answer
                .resume()
                .once('error', () => resolve())
                .once('close', resolve),
            ),
        )
        if (how === 'table') await control.putRoutes(tableWith([]))
        const begun = Date.now()
        await Promise.all(ended)
        assert.ok(Date.now() - begun < 3_000)
        assert.equal((await visit({ cookie: `${cookie}=${value}` })).status, 401)
      }
    },
  )
})

test('of two that bring a code at the same moment one gets nothing, and old codes go', async () => {
  let now = 0
  const codes = createCodes(() => now)
  const code = { hash: 'a', host, cookie: 'c', path: '/', expiresAt: 10, redeemBy: 5 }
  codes.add(code)
  assert.deepEqual(await Promise.all([codes.redeem('a', host), codes.redeem('a', host)]), [
    { cookie: 'c', path: '/', expiresAt: 10 },
    null,
  ])
  codes.add(code)
  now = 5
  assert.equal(await codes.redeem('a', host), null)
})

test('a cookie of an application is cut down to its host', () => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['a=1', 'a=1'],
    ['a=1; DOMAIN = localhost; Secure', 'a=1; Secure'],
    ['a=1;domain;Path=/domain=x', 'a=1;Path=/domain=x'],
    ['a=domain=x; Domain=a; Domain=b', 'a=domain=x'],
    ['mine=1', null],
    [' mine =1', null],
    ['=mine=1', null],
    ['mine2=1', 'mine2=1'],
    ['', ''],
  ]
  for (const [line, shown] of rows) assert.equal(hostOnlyCookie(line, ['mine']), shown, line)
})
