import assert from 'node:assert/strict'
import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { hash } from '@node-rs/argon2'
import { freePort } from '@stackquay/testkit/free-port'
import { createProxyControl } from '../src/control.ts'
import { createGate, isChanged } from '../src/gate/gate.ts'
import { mayRedirect, placesOf, redirectGate } from '../src/gate/redirects.ts'
import type { Visit } from '../src/gate/rule.ts'
import { type Proxy as RunningProxy, startProxy } from '../src/proxy.ts'
import type { Route, RouteRules, RouteTable, Target } from '../src/route-table.ts'
import { httpUpstream, portOf, proxyTo, route, table, tempHome, until, upstreamAt } from './support.ts'

// Every rule at every kind of host, over HTTP and over an upgrade. Addresses of the loopback network stand for clients elsewhere.

interface Entry {
  readonly name: string
  readonly host: string
  readonly share?: true
}

const entries: readonly Entry[] = [
  { name: 'the project’s own name', host: 'shop.localhost' },
  { name: 'the name of its development server', host: 'shop-dev.localhost' },
  { name: 'an extra domain', host: 'shop.example.org' },
  { name: 'a wildcard', host: 'any.shop.example.net' },
  { name: 'its share', host: 'k3v9.share.localhost', share: true },
  { name: 'a name in capitals, with a port and a dot', host: 'SHOP.example.org.:8780' },
]

interface Row {
  readonly name: string
  readonly rules: RouteRules
  readonly ask?: Ask
  /** Status over HTTP; over an upgrade the same, but 101 in place of 200. */
  readonly status: number
  /** A preflight is no upgrade. */
  readonly httpOnly?: true
  readonly also?: (seen: Seen) => void
}

interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Whom it comes from. */
  readonly from?: string
  readonly body?: string
}

interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** What the application saw; null when nothing reached it. */
  readonly application: IncomingMessage['headers'] | null
}

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
const preflight = {
  method: 'OPTIONS',
  headers: {
    origin: 'https://app.example',
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'x-a',
  },
}
const cors = {
  origins: ['https://app.example'],
  methods: ['GET', 'PUT'],
  headers: [],
  exposeHeaders: ['x-total'],
  credentials: true,
  maxAgeSeconds: 60,
}
const password = { username: 'ada', hash: await hash('right horse') }
const redirects = [
  { from: '/old', host: null, to: '/new', status: 308 },
  { from: '/blog/*', host: null, to: 'https://blog.example/*', status: 301 },
] as const
const everything: RouteRules = { allow: ['127.0.0.1'], cors, password, redirects: [{ ...redirects[0], from: '/*' }] }

const rows: readonly Row[] = [
  { name: 'no rule', rules: {}, status: 200 },
  {
    name: 'an address that is let in',
    rules: { allow: ['10.0.0.0/8', '127.0.0.0/30'] },
    ask: { from: '127.0.0.2' },
    status: 200,
  },
  {
    name: 'an address that is not',
    rules: { allow: ['10.0.0.0/8', '127.0.0.0/30'] },
    ask: { from: '127.0.0.9' },
    status: 403,
  },
  {
    name: 'a header that says another address',
    rules: { allow: ['10.0.0.0/8'] },
    ask: { headers: { 'x-forwarded-for': '10.1.2.3', forwarded: 'for=10.1.2.3', 'x-real-ip': '10.1.2.3' } },
    status: 403,
  },
  {
    name: 'a preflight of an allowed origin',
    rules: { cors },
    ask: preflight,
    status: 204,
    httpOnly: true,
    also: ({ headers, application }) => {
      assert.equal(application, null)
      assert.equal(headers['access-control-allow-origin'], 'https://app.example')
      assert.equal(headers['access-control-allow-methods'], 'GET, PUT')
      assert.equal(headers['access-control-allow-headers'], 'x-a')
      assert.equal(headers['access-control-allow-credentials'], 'true')
      assert.equal(headers['access-control-max-age'], '60')
    },
  },
  {
    name: 'a preflight of another origin',
    rules: { cors },
    ask: { ...preflight, headers: { ...preflight.headers, origin: 'https://evil.example' } },
    status: 403,
    httpOnly: true,
    also: ({ headers }) => assert.equal(headers['access-control-allow-origin'], undefined),
  },
  {
    name: 'a request of an allowed origin',
    rules: { cors },
    ask: { headers: { origin: 'https://app.example' } },
    status: 200,
    also: ({ headers }) => {
      assert.equal(headers['access-control-allow-origin'], 'https://app.example')
      assert.match(String(headers.vary), /Origin/)
    },
  },
  {
    name: 'a request of another origin, whose application says otherwise',
    rules: { cors },
    ask: { headers: { origin: 'https://evil.example' } },
    status: 200,
    also: ({ headers }) => assert.equal(headers['access-control-allow-origin'], undefined),
  },
  {
    name: 'no password',
    rules: { password },
    status: 401,
    also: ({ headers }) => assert.match(String(headers['www-authenticate']), /^Basic realm=/),
  },
  {
    name: 'a wrong password',
    rules: { password },
    ask: { headers: basic('ada:wrong'), from: 'a new client' },
    status: 401,
  },
  {
    name: 'a wrong user name',
    rules: { password },
    ask: { headers: basic('eve:right horse'), from: 'a new client' },
    status: 401,
  },
  {
    name: 'a bearer token in place of a password',
    rules: { password },
    ask: { headers: { authorization: 'Bearer x' } },
    status: 401,
  },
  {
    name: 'the right password',
    rules: { password },
    ask: { headers: basic('ada:right horse') },
    status: 200,
    also: ({ application }) => assert.equal(application?.authorization, undefined),
  },
  {
    name: 'a redirect',
    rules: { redirects },
    ask: { path: '/old?a=1' },
    status: 308,
    also: ({ headers, application }) => {
      assert.equal(headers.location, '/new?a=1')
      assert.equal(application, null)
    },
  },
  {
    name: 'a redirect that carries the rest over',
    rules: { redirects },
    ask: { path: '/blog/2026/hello' },
    status: 301,
    also: ({ headers }) => assert.equal(headers.location, 'https://blog.example/2026/hello'),
  },
  { name: 'a path beside the redirects', rules: { redirects }, ask: { path: '/older' }, status: 200 },
  {
    name: 'headers on the way to the application',
    rules: {
      requestHeaders: [
        { name: 'X-Team', value: 'blue' },
        { name: 'X-Drop', value: null },
      ],
    },
    ask: { headers: { 'x-team': 'mine', 'x-drop': 'me', 'x-keep': 'me' } },
    status: 200,
    also: ({ application }) => {
      assert.equal(application?.['x-team'], 'blue')
      assert.equal(application?.['x-drop'], undefined)
      assert.equal(application?.['x-keep'], 'me')
    },
  },
  {
    name: 'headers on the way back',
    rules: {
      responseHeaders: [
        { name: 'X-Frame-Options', value: 'DENY' },
        { name: 'X-Powered-By', value: null },
      ],
    },
    status: 200,
    also: ({ headers }) => {
      assert.equal(headers['x-frame-options'], 'DENY')
      assert.equal(headers['x-powered-by'], undefined)
    },
  },
  {
    name: 'maintenance, for a browser',
    rules: {
      maintenance: { retryAfter: 90, allow: ['10.0.0.0/8'], message: 'Back <b>soon</b>.' },
      password,
      redirects,
    },
    ask: { path: '/old', headers: { accept: 'text/html' } },
    status: 503,
    also: ({ headers, text }) => {
      assert.equal(headers['retry-after'], '90')
      assert.match(String(headers['content-type']), /^text\/html/)
      assert.match(text, /Back &lt;b&gt;soon&lt;\/b&gt;\./)
      assert.doesNotMatch(text, /http-equiv="refresh"/)
    },
  },
  {
    name: 'maintenance, for a program',
    rules: { maintenance: { retryAfter: 90, allow: [], page: '<h1>Ours</h1>' } },
    ask: { headers: { accept: 'application/json' } },
    status: 503,
    also: ({ headers, text }) => {
      assert.equal(headers['retry-after'], '90')
      const { code, retryable } = JSON.parse(text)
      assert.deepEqual([code, retryable], ['project_maintenance', true])
    },
  },
  {
    name: 'maintenance with a page of the project’s own, sent as it is',
    rules: { maintenance: { retryAfter: 1, allow: [], page: '<!doctype html><h1>Wir bauen um – ✓</h1>' } },
    ask: { headers: { accept: 'text/html' } },
    status: 503,
    also: ({ headers, text }) => {
      assert.equal(text, '<!doctype html><h1>Wir bauen um – ✓</h1>')
      assert.equal(headers['content-length'], String(Buffer.byteLength(text)))
      assert.equal(headers['content-security-policy'], undefined)
    },
  },
  {
    name: 'an address that sees the project during maintenance',
    rules: { maintenance: { retryAfter: 1, allow: ['127.0.0.2'] } },
    ask: { from: '127.0.0.2' },
    status: 200,
  },
  {
    name: 'a header that says an address that does',
    rules: { maintenance: { retryAfter: 1, allow: ['10.0.0.0/8'] } },
    ask: { headers: { 'x-forwarded-for': '10.1.2.3' } },
    status: 503,
  },
  {
    name: 'addresses before maintenance',
    rules: { allow: ['10.0.0.0/8'], maintenance: { retryAfter: 1, allow: ['127.0.0.0/8'] } },
    status: 403,
  },
  {
    name: 'a preflight before maintenance',
    rules: { cors, maintenance: { retryAfter: 1, allow: [] } },
    ask: preflight,
    status: 204,
    httpOnly: true,
  },
  // The order: addresses, CORS preflight, maintenance, password, redirects, application.
  {
    name: 'addresses before everything',
    rules: everything,
    ask: { ...preflight, from: '127.0.0.9' },
    status: 403,
    httpOnly: true,
  },
  { name: 'addresses before the password', rules: everything, ask: { from: '127.0.0.9' }, status: 403 },
  { name: 'a preflight before the password', rules: everything, ask: preflight, status: 204, httpOnly: true },
  { name: 'the password before redirects', rules: everything, ask: { path: '/old' }, status: 401 },
  {
    name: 'redirects before the application',
    rules: everything,
    ask: { path: '/x', headers: basic('ada:right horse') },
    status: 308,
  },
]

test('a rule that fails lets no request in', async () => {
  const route = routesWith(upstreamAt(1), { password })[0]!
  const broken = { now: 0, client: '127.0.0.1', headers: null } as unknown as Visit
  await assert.rejects(async () => createGate(route)!.check(broken), TypeError)
})

describe('every rule at every kind of host', () => {
  const ended: (() => unknown)[] = []
  let proxy: RunningProxy
  let target: Target
  let put: (routes: readonly Route[], rest?: Partial<RouteTable>) => Promise<void>
  let application: IncomingMessage['headers'] | null = null
  let newcomers = 0

  before(async () => {
    const t = { after: (end: unknown) => ended.push(end as () => unknown) } as never
    const server = createServer((message, response) => {
      application = message.headers
      response.setHeader('access-control-allow-origin', '*')
      response.setHeader('x-powered-by', 'Test')
      response.end('the application')
    })
    server.on('upgrade', (message, socket) => {
      application = message.headers
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\nAccess-Control-Allow-Origin: *\r\nX-Powered-By: Test\r\n\r\n',
      )
      socket.on('error', () => {})
      socket.on('end', () => socket.end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ended.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    target = upstreamAt(portOf(server))
    const home = await tempHome(t)
    proxy = await startProxy({ home, listen: '127.0.0.1:0', limits: { drainWithin: 200 } })
    ended.push(async () => {
      await proxy.shutdown()
      await proxy.done
    })
    let generation = 1
    put = async (routes, rest = {}) => {
      generation += 1
      await createProxyControl(home).putRoutes({
        version: 1,
        generation,
        routes,
        shareSuffix: '.share.localhost',
        ...rest,
      })
    }
  })
  after(async () => {
    for (const end of ended.reverse()) await end()
  })

  for (const row of rows) {
    for (const entry of entries) {
      test(`${row.name}: ${entry.name}`, async () => {
        await put(routesWith(target, row.rules))
        for (const isUpgrade of row.httpOnly ? [false] : [false, true]) {
          const seen = await visit(entry.host, row.ask ?? {}, isUpgrade)
          const wanted = row.status === 200 && isUpgrade ? 101 : row.status
          assert.equal(seen.status, wanted, `${isUpgrade ? 'upgrade' : 'HTTP'}: ${seen.text}`)
          assert.equal(seen.application === null, row.status !== 200)
          row.also?.(seen)
        }
      })
    }
  }

  test('a share that has expired, or that no table has any more, is gone whatever the rules say', async () => {
    for (const rules of [{}, everything]) {
      await put(routesWith(target, rules, { expiresAt: Date.now() - 1 }))
      for (const isUpgrade of [false, true]) {
        const seen = await visit('k3v9.share.localhost', {}, isUpgrade)
        assert.equal(seen.status, 410)
        assert.ok(!seen.text.includes('The shop'), 'strangers do not learn the name of the project')
      }
    }
    await put([])
    assert.equal((await visit('k3v9.share.localhost', {}, false)).status, 410)
    assert.equal((await visit('other.localhost', {}, false)).status, 404)
  })

  test('the password of a share is asked for on a page, once, and holds for this share alone', async () => {
    const passwordHash = await hash('open sesame')
    await put(routesWith(target, {}, { passwordHash }))
    const host = 'k3v9.share.localhost'
    const page = await visit(host, { path: '/deep/page?x=1', headers: { accept: 'text/html' } }, false)
    assert.equal(page.status, 401)
    assert.match(page.text, /<form method="post" action="\/\.stackquay\/share">/)
    assert.match(page.text, /name="next" value="\/deep\/page\?x=1"/)
    assert.equal((await visit(host, {}, true)).status, 401)
    const send = (password: string, next: string) =>
      visit(
        host,
        {
          method: 'POST',
          path: '/.stackquay/share',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ password, next }).toString(),
        },
        false,
      )
    const wrong = await send('wrong', '/deep/page?x=1')
    assert.equal(wrong.status, 403)
    assert.match(wrong.text, /name="next" value="\/deep\/page\?x=1"/, 'the way is not forgotten')
    const formAgain = await visit(host, { path: '/.stackquay/share', headers: { accept: 'text/html' } }, false)
    assert.match(formAgain.text, /name="next" value="\/"/)
    const opened = await send('open sesame', '/deep/page?x=1')
    assert.equal(opened.status, 303)
    assert.equal(opened.headers.location, '/deep/page?x=1')
    for (const evil of ['//evil.example', 'https://evil.example', '/\\evil.example', '/a\r\nx: y', '/.stackquay/share'])
      assert.equal((await send('open sesame', evil)).headers.location, '/', evil)
    const [setCookie = ''] = opened.headers['set-cookie'] ?? []
    assert.match(setCookie, /^stackquay_share=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/)
    const cookie = `a=1; ${setCookie.split(';')[0]}; b=2`
    for (const isUpgrade of [false, true]) {
      const seen = await visit(host, { headers: { cookie } }, isUpgrade)
      assert.equal(seen.status, isUpgrade ? 101 : 200)
      assert.equal(seen.application?.cookie, 'a=1;  b=2'.replace('  ', ' '))
    }
    const secondTab = await visit(
      host,
      {
        method: 'POST',
        path: '/.stackquay/share',
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
        body: 'password=open+sesame&next=%2Fb',
      },
      false,
    )
    assert.equal(secondTab.headers.location, '/b')
    assert.equal(secondTab.application, null, 'the password is not for the application')
    // Another share, or another password, is another cookie.
    await put(routesWith(target, {}, { passwordHash, id: 'shr_2' }))
    assert.equal((await visit(host, { headers: { cookie } }, false)).status, 401)
    await put(routesWith(target, {}, { passwordHash: await hash('open sesame') }))
    assert.equal((await visit(host, { headers: { cookie } }, false)).status, 401)
  })

  test('what is open over a share is closed when it expires, and when the table has it no more', async () => {
    for (const end of ['clock', 'table'] as const) {
      const expiresAt = Date.now() + (end === 'clock' ? 700 : 60_000)
      await put(routesWith(target, {}, { expiresAt }))
      const socket = await openUpgrade('k3v9.share.localhost')
      const kept = await openUpgrade('shop.localhost')
      if (end === 'table') await put(routesWith(target, {}).filter(({ share }) => share === undefined))
      await until(() => socket.destroyed || socket.readableEnded, 'the socket is closed', 20_000)
      assert.ok(end === 'table' || Date.now() >= expiresAt)
      assert.equal(kept.destroyed, false)
      kept.destroy()
    }
  })

  test('wrong passwords are soon answered 429, for this client only', async () => {
    await put(routesWith(target, { password }))
    const statuses: number[] = []
    for (let attempt = 0; attempt < 14; attempt += 1) {
      const { status } = await visit(
        'shop.localhost',
        { headers: basic(`ada:guess ${attempt}`), from: '127.0.0.77' },
        false,
      )
      statuses.push(status)
    }
    assert.deepEqual(
      statuses.slice(0, 10),
      Array.from({ length: 10 }, () => 401),
    )
    assert.ok(statuses.slice(10).every((status) => status === 429))
    for (const isUpgrade of [false, true]) {
      const { headers } = await visit('shop.localhost', { headers: basic('ada:guess'), from: '127.0.0.77' }, isUpgrade)
      assert.match(String(headers['retry-after']), /^\d+$/)
    }
    const other = await visit('shop.localhost', { headers: basic('ada:right horse'), from: '127.0.0.78' }, false)
    assert.equal(other.status, 200)
  })

  test('many guesses at the same moment are no more than one after the other', async () => {
    await put(routesWith(target, { password }))
    const guess = (text: string, from: string) => visit('shop.localhost', { headers: basic(text), from }, false)
    const all = await Promise.all(Array.from({ length: 30 }, (_, index) => guess(`ada:many ${index}`, '127.0.0.79')))
    assert.equal(all.filter(({ status }) => status === 401).length, 10)
    assert.equal(all.filter(({ status }) => status === 429).length, 20)
    const right = await Promise.all(Array.from({ length: 30 }, () => guess('ada:right horse', '127.0.0.80')))
    assert.ok(right.every(({ status }) => status === 200))
  })

  test('strangers at a share read neither name nor number of its project', async () => {
    const { port, close } = await brokenServer()
    const targets: readonly Target[] = [
      { kind: 'page', page: 'failed', title: 'It is not answering now' },
      { kind: 'page', page: 'stopped' },
      upstreamAt(1),
      upstreamAt(port),
    ]
    for (const one of targets) {
      await put(routesWith(one, {}))
      for (const accept of ['text/html', 'application/json']) {
        for (const isUpgrade of [false, true]) {
          const { status, text } = await visit('k3v9.share.localhost', { headers: { accept } }, isUpgrade)
          assert.ok(status >= 500, text)
          assert.doesNotMatch(text, /shop|port 1\b/i)
        }
      }
    }
    assert.match((await visit('shop.localhost', {}, false)).text, /The shop/)
    close()
  })

  test('a connection that is refused again and again holds nothing of what was', async () => {
    await put(routesWith(target, { redirects: [...redirects] }))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    const asks = [{ path: '/old' }, { path: '/old', method: 'POST', body: 'x'.repeat(100_000) }]
    for (let turn = 0; turn < 30; turn += 1) {
      const { status } = await send(proxy.address.port, 'shop.localhost', asks[turn % 2]!, false, agent)
      assert.equal(status, 308)
    }
    agent.destroy()
    process.off('warning', onWarning)
    assert.deepEqual(warnings, [])
  })

  test('a header that both CORS and the rules set is there once, as the rules say, and 204 has no length', async () => {
    const own = [{ name: 'Access-Control-Allow-Origin', value: 'https://own.example' }]
    await put(routesWith(target, { cors, responseHeaders: own }))
    const seen = await visit('shop.localhost', { headers: { origin: 'https://app.example' } }, false)
    assert.equal(seen.headers['access-control-allow-origin'], 'https://own.example')
    assert.equal((await visit('shop.localhost', preflight, false)).headers['content-length'], undefined)
  })

  test('only a trusted proxy is believed where a request comes from, and a client that it cannot name is unknown', async () => {
    const rules = { allow: ['10.1.2.3'] }
    const at = (forwarded: string, from: string) =>
      visit('shop.localhost', { headers: { 'x-forwarded-for': forwarded, 'x-forwarded-proto': 'https' }, from }, false)
    await put(routesWith(target, rules), { trustedProxies: ['127.0.0.5', '192.0.2.0/24'] })
    const through = await at('10.1.2.3', '127.0.0.5')
    assert.equal(through.status, 200)
    assert.equal(through.application?.['x-forwarded-for'], '10.1.2.3, 127.0.0.5')
    assert.equal(through.application?.['x-forwarded-proto'], 'https')
    assert.equal((await at('6.6.6.6, 10.1.2.3, 192.0.2.9', '127.0.0.5')).status, 200)
    assert.equal((await at('10.1.2.3, 6.6.6.6', '127.0.0.5')).status, 403)
    assert.equal((await at('10.1.2.3, nonsense', '127.0.0.5')).status, 403)
    assert.equal((await at('10.1.2.3', '127.0.0.6')).status, 403)
    await put(routesWith(target, { allow: ['0.0.0.0/0', '::/0'] }), { trustedProxies: ['127.0.0.5'] })
    assert.equal((await at('nonsense', '127.0.0.5')).status, 403)
  })

  async function visit(host: string, ask: Ask, isUpgrade: boolean): Promise<Seen> {
    application = null
    // Wrong passwords are counted by address.
    if (ask.from === 'a new client') newcomers += 1
    const from = ask.from === 'a new client' ? `127.0.3.${newcomers}` : ask.from
    const asked = from === undefined ? ask : { ...ask, from }
    const { status, headers, text } = await send(proxy.address.port, host, asked, isUpgrade)
    return { status, headers, text, application }
  }

  function openUpgrade(host: string) {
    return new Promise<import('node:stream').Duplex>((resolve, reject) => {
      const call = request({
        port: proxy.address.port,
        host: '127.0.0.1',
        headers: { host, connection: 'Upgrade', upgrade: 'test' },
      })
      call.on('upgrade', (_answer, socket) => {
        socket.on('error', () => {})
        socket.resume()
        resolve(socket)
      })
      call.on('response', (answer) => reject(new Error(`status ${answer.statusCode}`)))
      call.on('error', reject)
      call.end()
    })
  }
})

function routesWith(
  target: Target,
  rules: RouteRules,
  share: Partial<NonNullable<Route['share']>> = {},
): readonly Route[] {
  const project = { id: 'prj_shop', slug: 'shop', name: 'The shop' }
  return [
    { hosts: ['shop.localhost', 'shop.example.org', '*.shop.example.net'], project, target, rules },
    { hosts: ['shop-dev.localhost'], project, target, rules },
    {
      hosts: ['k3v9.share.localhost'],
      project,
      target,
      rules,
      share: { id: 'shr_1', expiresAt: Date.now() + 60_000, ...share },
    },
  ]
}

/** Accepts and breaks off. */
async function brokenServer() {
  const server = createTcpServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: portOf(server), close: () => server.close() }
}

function send(
  port: number,
  host: string,
  ask: Ask,
  isUpgrade: boolean,
  agent: Agent | false = false,
): Promise<Omit<Seen, 'application'>> {
  return new Promise((resolve, reject) => {
    const call = request({
      port,
      host: '127.0.0.1',
      localAddress: ask.from ?? '127.0.0.1',
      method: isUpgrade ? 'GET' : (ask.method ?? 'GET'),
      path: ask.path ?? '/',
      agent,
      headers: { host, ...ask.headers, ...(isUpgrade ? { connection: 'Upgrade', upgrade: 'test' } : {}) },
    })
    call.on('response', async (answer) => {
      let text = ''
      for await (const chunk of answer) text += String(chunk)
      resolve({ status: answer.statusCode!, headers: answer.headers, text })
    })
    call.on('upgrade', (answer, socket) => {
      socket.destroy()
      resolve({ status: answer.statusCode!, headers: answer.headers, text: '' })
    })
    call.on('error', reject)
    call.end(isUpgrade ? undefined : ask.body)
  })
}

test('a request that waits for its project to come back passes the rules of the table that is in use then', async (t) => {
  const port = await httpUpstream(t, (_message, response) => response.end('the application'))
  const closed = upstreamAt(await freePort())
  const proxy = await proxyTo(t, closed, { refusedWait: 20_000 })
  for (const isUpgrade of [false, true]) {
    await proxy.control.putRoutes(table([route('shop', closed)]))
    const answer = send(proxy.port, 'shop.localhost', {}, isUpgrade)
    await until(async () => (await proxy.control.status())?.held === 1, 'it waits', 20_000)
    await proxy.control.putRoutes(table([{ ...route('shop', upstreamAt(port)), rules: { allow: ['10.0.0.1'] } }]))
    assert.equal((await answer).status, 403)
  }
})

test('the quick look at redirects and headers never passes over one that matches', () => {
  const letters = ['a', 'b', 'A', '1', 'é', '?', '#', '/', '*', '']
  const paths = letters.flatMap((one) => letters.map((other) => `/${one}${other}`))
  for (const from of [...paths, '/', '*']) {
    const redirects = [{ from, host: null, to: '/elsewhere', status: 301 }] as const
    const rule = redirectGate(redirects)
    const places = placesOf(redirects)
    for (const path of [...paths, '/']) {
      if (rule.check(visitOf(path)) !== null) assert.ok(mayRedirect(places, path), `${from} and ${path}`)
    }
  }
  const names = ['x', 'X-One', `x-${'y'.repeat(31)}`, `X-${'y'.repeat(63)}`, '']
  for (const name of names) {
    const changes = { names: [name.toLowerCase()], lengths: 1 << (name.length % 32), pairs: [] }
    for (const other of names)
      assert.equal(isChanged(changes, other), other.toLowerCase() === name.toLowerCase(), other)
  }
})

function visitOf(path: string): Visit {
  return {
    client: '127.0.0.1',
    host: 'shop.localhost',
    path,
    method: 'GET',
    headers: {},
    proto: 'http',
    form: async () => null,
    isUpgrade: false,
    redeem: async () => null,
    now: 0,
  }
}
