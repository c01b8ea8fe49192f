import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AccessEntry, Domain, Metrics, ProxyRules, Share, Traffic } from '@stackquay/contract'
import pc from 'picocolors'
import { qrCode } from '../src/network/qr-code.ts'
import { bar } from '../src/network/traffic-text.ts'
import { scratch, stq } from './run-stq.ts'
import { answerProblem, problem, type Route, standIn } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const time = '2026-01-01T08:00:00.000Z'
const rulesPath = '/projects/shop/proxy-rules'
/** Clears the screen and renames the window. */
const nasty = '\x1b[2J\x1b]0;owned\x07'

function domain(rest: Partial<Domain> = {}): Domain {
  return {
    host: 'shop.localhost',
    display: 'shop.localhost',
    automatic: true,
    redirectsUntil: null,
    workload: null,
    url: 'http://shop.localhost:8780',
    createdAt: null,
    ...rest,
  }
}

const rules: ProxyRules = {
  signIn: false,
  allowIps: ['10.0.0.0/8', '::1'],
  basicAuth: { username: 'ada' },
  redirects: [{ from: '/old', host: null, to: '/new', status: 301 }],
  requestHeaders: [{ name: 'X-From', value: `proxy${nasty}` }],
  responseHeaders: [{ name: 'Server', value: null }],
  cors: {
    origins: ['https://app.example.org'],
    methods: ['GET'],
    headers: [],
    exposeHeaders: [],
    credentials: true,
    maxAgeSeconds: 60,
  },
}

function share(rest: Partial<Share> = {}): Share {
  return {
    id: 'shr_1',
    url: 'http://abc.share.localhost:8780',
    provider: 'direct',
    state: 'open',
    detail: null,
    hasPassword: false,
    workload: null,
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    createdAt: new Date().toISOString(),
    actor: 'ada',
    viewers: 2,
    ...rest,
  }
}

/** Rules that are read with a tag and answered as they were put. */
function rulesRoutes(before: ProxyRules = rules): Readonly<Record<string, Route>> {
  return {
    [`GET ${rulesPath}`]: (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json', etag: '"rules-4"' }).end(JSON.stringify(before))
    },
    [`PUT ${rulesPath}`]: ({ body }) => ({ ...before, ...(body as object), basicAuth: null }),
  }
}

test('against a stand-in: domains are listed, added and removed, and one word alone is the host', async () => {
  const added = domain({ host: 'xn--bcher-kva.example', display: `bücher.example${nasty}`, automatic: false })
  const project = { slug: 'shop', path: '/', id: 'prj_1' }
  await using service = await standIn({
    'GET /projects': () => ({ items: [project], nextCursor: null }),
    'GET /projects/shop/domains': () => ({ items: [domain(), { ...added, workload: 'web' }] }),
    'POST /projects/shop/domains': (_call, response) => {
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(added))
    },
    'DELETE /projects/shop/domains/b%C3%BCcher.example': (_call, response) => {
      response.writeHead(204).end()
    },
  })
  const { url } = service
  const list = await stq(['domain', 'list', 'shop'], { url })
  assert.match(list.stdout, /^HOST +LEADS TO +KIND +URL\nshop\.localhost +the project +automatic +http:/)
  assert.match(list.stdout, /bücher\.example \(xn--bcher-kva\.example\) +web +added/)
  assert.ok(!list.stdout.includes('\x1b'))

  const add = await stq(['domain', 'add', 'shop', 'bücher.example', '-w', 'web'], { url })
  assert.deepEqual([add.code, add.stdout], [0, 'http://shop.localhost:8780\n'])
  assert.deepEqual(service.calls.at(-1)!.body, { host: 'bücher.example', workload: 'web' })
  assert.ok(service.calls.at(-1)!.headers['idempotency-key'])

  const remove = await stq(['domain', 'remove', 'bücher.example', '--json'], { url, cwd: '/' })
  assert.deepEqual([remove.code, JSON.parse(remove.stdout)], [0, { project: 'shop', removed: 'bücher.example' }])
  assert.equal((await stq(['domain', 'add'], { url })).code, 2)
})

test('against a stand-in: a project gets another slug, and names of before say how long they redirect', async () => {
  const until = '2026-02-01T08:00:00.000Z'
  await using service = await standIn({
    'POST /projects/shop/rename': () => ({
      id: 'prj_1',
      slug: 'store',
      url: 'http://store.localhost:8780',
      operation: null,
    }),
    'GET /projects/store/domains': () => ({ items: [domain({ automatic: false, redirectsUntil: until })] }),
  })
  const { url } = service
  const renamed = await stq(['rename', 'shop', 'store', '--redirect-days', '7'], { url })
  assert.deepEqual([renamed.code, renamed.stdout], [0, 'http://store.localhost:8780\n'], renamed.stderr)
  assert.deepEqual(service.calls.at(-1)!.body, { slug: 'store', redirectDays: 7 })
  assert.match((await stq(['domain', 'list', 'store'], { url })).stdout, /redirects until 2026-02-01/)
  assert.equal((await stq(['rename', 'shop', 'store', '--redirect-days', 'x'], { url })).code, 2)
  assert.equal((await stq(['rename', 'shop'], { url })).code, 2)
})

test('against a stand-in: a host name that another project has ends with the code of a conflict', async () => {
  await using service = await standIn({
    'POST /projects/shop/domains': (_call, response) =>
      answerProblem(response, problem(409, 'conflict', { detail: 'a.example belongs to "blog".' })),
  })
  const { code, stderr } = await stq(['domain', 'add', 'shop', 'a.example'], { url: service.url })
  assert.equal(code, 5)
  assert.match(stderr, /a\.example belongs to "blog"/)
})

test('against a stand-in: rules are shown in the order in which they are asked, and nothing in them moves the cursor', async () => {
  await using service = await standIn(rulesRoutes())
  const { code, stdout } = await stq(['rules', 'show', 'shop'], { url: service.url })
  assert.equal(code, 0)
  assert.equal(
    stdout,
    [
      'Addresses         10.0.0.0/8',
      '                  ::1',
      'CORS              from https://app.example.org',
      '                  methods GET',
      '                  with credentials',
      '                  remembered for 60 s',
      'Password          ada',
      'Redirects         /old -> /new [301]',
      'Request headers   X-From: proxy',
      'Response headers  Server: (removed)',
      '',
    ].join('\n'),
  )
})

test('against a stand-in: setting rules changes what is named alone, and holds only for what was read', async () => {
  await using service = await standIn(rulesRoutes())
  const flags = [
    '--allow',
    '192.0.2.1',
    '--allow',
    '2001:db8::/32',
    '--redirect',
    'old.example/a/* -> https://b.example/* [302]',
  ]
  const more = ['--redirect', '/c -> /d', '--response-header', 'X-A: b: c', '--response-header', 'Server:']
  const cors = ['--cors-origin', '*', '--no-cors-credentials']
  const { code, stderr } = await stq(['rules', 'set', 'shop', ...flags, ...more, ...cors], { url: service.url })
  assert.equal(code, 0, stderr)
  const put = service.calls.at(-1)!
  assert.equal(put.headers['if-match'], '"rules-4"')
  assert.deepEqual(put.body, {
    ...rules,
    allowIps: ['192.0.2.1', '2001:db8::/32'],
    redirects: [
      { from: '/a/*', host: 'old.example', to: 'https://b.example/*', status: 302 },
      { from: '/c', to: '/d', status: 308 },
    ],
    responseHeaders: [
      { name: 'X-A', value: 'b: c' },
      { name: 'Server', value: null },
    ],
    cors: { ...rules.cors, origins: ['*'], credentials: false },
  })
})

test('against a stand-in: rules that somebody else changed meanwhile are not overwritten', async () => {
  await using service = await standIn({
    ...rulesRoutes(),
    [`PUT ${rulesPath}`]: (_call, response) => answerProblem(response, problem(412, 'precondition_failed')),
  })
  assert.equal((await stq(['rules', 'set', 'shop', '--allow', '::1'], { url: service.url })).code, 5)
})

test('against a stand-in: the password of a rule comes from standard input or a terminal, never from the command line', async () => {
  await using service = await standIn(rulesRoutes())
  const { url } = service
  const set = await stq(['rules', 'set', 'shop', '--password', 'bob', '--password-stdin'], { url, input: 'a secret\n' })
  assert.equal(set.code, 0, set.stderr)
  assert.deepEqual((service.calls.at(-1)!.body as ProxyRules).basicAuth, { username: 'bob', password: 'a secret' })
  assert.deepEqual((service.calls.at(-1)!.body as ProxyRules).allowIps, rules.allowIps)

  const before = service.calls.length
  for (const args of [['--password', 'bob'], ['--password-stdin'], ['--password', 'bob', '--password-stdin'], []]) {
    const refused = await stq(['rules', 'set', 'shop', ...args], { url })
    assert.equal(refused.code, 2, `${args} ${refused.stderr}`)
  }
  assert.equal(service.calls.length, before)
})

test('against a stand-in: what is typed as a password on a terminal is not shown', async () => {
  await using service = await standIn(rulesRoutes())
  const { error, stdout, stderr } = await onTerminal(['rules', 'set', 'shop', '--password', 'bob'], {
    url: service.url,
    answers: { 'Password: ': 'a secret' },
  })
  assert.equal(error, null)
  assert.ok(!`${stdout}${stderr}`.includes('a secret'))
  assert.deepEqual((service.calls.at(-1)!.body as ProxyRules).basicAuth, { username: 'bob', password: 'a secret' })
})

test('against a stand-in: what rules show prints as JSON can be set from a file and from standard input', async () => {
  await using service = await standIn(rulesRoutes())
  await using folder = await scratch()
  const { url } = service
  const { stdout } = await stq(['rules', 'show', 'shop', '--json'], { url })
  await writeFile(join(folder.path, 'rules.json'), stdout)
  assert.equal((await stq(['rules', 'set', 'shop', '--file', 'rules.json'], { url, cwd: folder.path })).code, 0)
  assert.deepEqual(service.calls.at(-1)!.body, rules)
  assert.equal((await stq(['rules', 'set', 'shop', '--file', '-'], { url, input: stdout })).code, 0)
  assert.deepEqual(service.calls.at(-1)!.body, rules)

  const before = service.calls.length
  for (const args of [
    ['--file', 'none.json'],
    ['--file', '-'],
    ['--file', 'rules.json', '--allow', '::1'],
  ])
    assert.equal((await stq(['rules', 'set', 'shop', ...args], { url, cwd: folder.path, input: '[]' })).code, 2)
  assert.equal(service.calls.length, before)
})

test('against a stand-in: what is no rule is refused before anything is sent', async () => {
  await using service = await standIn(rulesRoutes({ ...rules, cors: null }))
  const { url } = service
  for (const args of [
    ['--redirect', '/old /new'],
    ['--redirect', '/old -> /new [200]'],
    ['--request-header', 'X-From'],
    ['--cors-max-age', 'long'],
  ]) {
    const { code, stderr } = await stq(['rules', 'set', 'shop', ...args], { url })
    assert.equal(code, 2, stderr)
  }
  assert.deepEqual(service.lines(), [])
  const { code, stderr } = await stq(['rules', 'set', 'shop', '--cors-credentials'], { url })
  assert.equal(code, 2)
  assert.match(stderr, /--cors-origin/)
  assert.deepEqual(service.lines(), [`GET ${rulesPath}`])
})

test('against a stand-in: clearing takes away what is named, or all', async () => {
  await using service = await standIn(rulesRoutes())
  const { url } = service
  assert.equal((await stq(['rules', 'clear', 'shop', '--cors', '--redirects'], { url })).code, 0)
  assert.deepEqual(service.calls.at(-1)!.body, { ...rules, cors: null, redirects: [] })
  assert.equal(service.calls.at(-1)!.headers['if-match'], '"rules-4"')
  assert.equal((await stq(['rules', 'clear', 'shop', '--yes'], { url })).code, 0)
  assert.deepEqual(service.calls.at(-1)!.body, {
    signIn: false,
    allowIps: [],
    basicAuth: null,
    redirects: [],
    requestHeaders: [],
    responseHeaders: [],
    cors: null,
  })
})

test('against a stand-in: a share prints its address alone where another program reads it, and a code when asked', async () => {
  await using service = await standIn({
    'POST /projects/shop/share': (_call, response) => {
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(share()))
    },
  })
  const { url } = service
  const args = ['share', 'shop', '--minutes', '30', '--password-stdin', '--provider', 'direct', '-w', 'web']
  const made = await stq(args, { url, input: 'let me in\n' })
  assert.deepEqual([made.code, made.stdout], [0, 'http://abc.share.localhost:8780\n'], made.stderr)
  assert.deepEqual(service.calls[0]!.body, { minutes: 30, password: 'let me in', provider: 'direct', workload: 'web' })
  assert.match(made.stderr, /stq share end shop/)

  const coded = await stq(['share', 'shop', '--qr'], { url })
  assert.match(coded.stdout, /^http:\/\/abc\.share\.localhost:8780\n\n█+\n/)
  assert.equal((await stq(['share', 'shop', '--minutes', '4'], { url })).code, 2)
})

test('against a stand-in: a share that is still being connected is waited for, and one that failed says why', async () => {
  let looks = 0
  let state: Share['state'] = 'open'
  await using service = await standIn({
    'POST /projects/shop/share': (_call, response) => {
      const made = share({ state: 'connecting', url: null, provider: 'ssh' })
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(made))
    },
    'GET /projects/shop/share': () => {
      looks += 1
      const now = looks < 2 ? 'connecting' : state
      const url = now === 'open' ? 'https://far.example' : null
      return { share: share({ state: now, url, detail: now === 'failed' ? 'ssh was refused.' : null }), providers: [] }
    },
  })
  const { url } = service
  const open = await stq(['share', 'shop', '--provider', 'ssh'], { url })
  assert.deepEqual([open.code, open.stdout], [0, 'https://far.example\n'], open.stderr)
  looks = 0
  state = 'failed'
  const failed = await stq(['share', 'shop', '--provider', 'ssh'], { url })
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /ssh was refused\./)
})

test('against a stand-in: a share is shown with what it can be reached through, its viewers, and ended', async () => {
  const provider = {
    name: 'cloudflare',
    label: 'Cloudflare',
    summary: 'A tunnel.',
    available: false,
    reason: 'cloudflared is missing.',
    install: 'Install it.',
  }
  await using service = await standIn({
    'GET /projects/shop/share': () => ({ share: share(), providers: [provider] }),
    'GET /projects/shop/share/viewers': () => ({
      items: [{ time, address: '192.0.2.1', userAgent: `Browser${nasty}`, requests: 7, lastSeenAt: time }],
    }),
    'DELETE /projects/shop/share': (_call, response) => {
      response.writeHead(204).end()
    },
  })
  const { url } = service
  const shown = await stq(['share', 'show', 'shop'], { url })
  assert.match(
    shown.stdout,
    /^URL +http:\/\/abc\.share\.localhost:8780\nState +✔ open\nEnds +in (1 h|59 min.*|60 min.*)\n/,
  )
  assert.match(shown.stdout, /cloudflare +no +cloudflared is missing\. Install it\.\n$/)
  const viewers = await stq(['share', 'viewers', 'shop'], { url })
  assert.match(viewers.stdout, /192\.0\.2\.1 +7 .* Browser\n$/)
  const end = await stq(['share', 'end', 'shop'], { url })
  assert.deepEqual([end.code, end.stdout], [0, ''])
  assert.equal(service.lines().at(-1), 'DELETE /projects/shop/share')
})

test('against a stand-in: traffic shows sums, statuses and how requests were spread', async () => {
  const sums = {
    bytes: 2_000_000,
    status2xx: 90,
    status3xx: 0,
    status4xx: 8,
    status5xx: 2,
    p50: 0.012,
    p95: 0.4,
    p99: 1.26,
  }
  const traffic: Traffic = {
    stepSeconds: 10,
    items: [0, 20, 80].map((requests, index) => ({ ...sums, requests, time: `2026-01-01T08:0${index}:00.000Z` })),
    total: { ...sums, requests: 100 },
  }
  await using service = await standIn({ 'GET /projects/shop/traffic': () => traffic })
  const { code, stdout } = await stq(['traffic', 'shop', '--range', '6h'], { url: service.url })
  assert.equal(code, 0)
  assert.equal(service.calls[0]!.query.get('range'), '6h')
  assert.match(
    stdout,
    /^Requests +100, 3\.3 a second\nSent +2\.0 MB\nAnswered in +12 ms \(half\), 400 ms \(95 %\), 1\.3 s/,
  )
  assert.match(stdout, /4xx +8 +8\.0 %/)
  assert.match(stdout, /\n ▂█\n2026-01-01 08:00 +2026-01-01 08:02 UTC\n$/)
  assert.equal((await stq(['traffic', 'shop', '--range', '2y'], { url: service.url })).code, 2)
})

test('against a stand-in: stats shows means and peaks of each workload, what was not measured as such, and requests', async () => {
  const metrics: Metrics = {
    from: '2026-01-01T08:00:00.000Z',
    stepSeconds: 300,
    items: [
      {
        workload: 'node',
        cpu: [0.1, null, 0.3],
        cpuMax: [0.2, null, 1.5],
        memoryBytes: [20e6, null, 40e6],
        memoryMaxBytes: [30e6, null, 50e6],
        readBytes: [1e6, null, 2e6],
        writtenBytes: [0, null, 0],
        receivedBytes: null,
        sentBytes: null,
      },
    ],
    requests: { requests: [10, null, 90], errors: [0, null, 5], seconds: [0.1, null, 0.2] },
  }
  let answer: Metrics = metrics
  await using service = await standIn({ 'GET /projects/shop/metrics': () => answer })
  const { url } = service
  const { code, stdout } = await stq(['stats', 'shop', '--range', '7d', '-w', 'node'], { url })
  assert.equal(code, 0)
  assert.deepEqual(Object.fromEntries(service.calls[0]!.query), { range: '7d', workload: 'node' })
  assert.match(stdout, /^WORKLOAD .*\nnode +20 % +150 % +30 MB +50 MB +3\.0 MB \/ 0 bytes +▂ █\n/)
  assert.match(
    stdout,
    /From 2026-01-01 08:00 UTC, 3 steps of 5 minutes\.\n\n100 requests, 5 answered with 5xx \(5\.0 %\)\n▁ █\n$/,
  )
  assert.deepEqual(JSON.parse((await stq(['stats', 'shop', '--json'], { url })).stdout), metrics)
  answer = { ...metrics, items: [], requests: null }
  assert.match((await stq(['stats', 'shop'], { url })).stdout, /^Nothing was measured in this time\./)
  assert.equal((await stq(['stats', 'shop', '--range', '2y'], { url })).code, 2)
})

test('a bar puts neighbours together where there are more of them than columns', () => {
  assert.equal(bar([0, 0, 0], 10), '   ')
  assert.equal(bar([1, 1, 4, 4, 0, 0], 3), '▂█ ')
  assert.equal(
    bar(
      Array.from({ length: 1000 }, () => 5),
      60,
    ).length <= 60,
    true,
  )
})

test('against a stand-in: the access log is filtered by the service and read page by page', async () => {
  const entry = (status: number, rest: Partial<AccessEntry> = {}): AccessEntry => ({
    time,
    host: 'shop.localhost',
    method: 'GET',
    path: `/a${nasty}`,
    status,
    seconds: 0.0123,
    bytes: 1400,
    client: '192.0.2.1',
    userAgent: null,
    via: 'domain',
    by: null,
    ...rest,
  })
  await using service = await standIn({
    'GET /projects/shop/access-log': ({ query }) =>
      query.get('cursor') === null
        ? { items: [entry(500)], nextCursor: 'more' }
        : { items: [entry(403, { via: 'share', by: 'addresses' })], nextCursor: null },
  })
  const { url } = service
  const { code, stdout } = await stq(['access-log', 'shop', '--status', '5xx', '--grep', 'a', '--limit', '300'], {
    url,
  })
  assert.equal(code, 0)
  assert.deepEqual(Object.fromEntries(service.calls[0]!.query), { status: '5xx', q: 'a', limit: '200' })
  assert.deepEqual(Object.fromEntries(service.calls[1]!.query), { status: '5xx', q: 'a', limit: '200', cursor: 'more' })
  assert.match(stdout, /\n2026-01-01T08:00:00Z +500 +12 ms +1\.4 kB +192\.0\.2\.1 +- +GET shop\.localhost\/a\n/)
  assert.match(stdout, /403 .* addresses, share +GET/)
  assert.equal((await stq(['access-log', 'shop', '--status', '6xx'], { url })).code, 2)
})

test('a QR code has two rows in a line, light around it, and says its colours where there are any', () => {
  const lines = qrCode('http://abc.share.localhost:8780', pc.createColors(false)).split('\n')
  assert.ok(lines.every((line) => line.length === lines[0]!.length))
  assert.ok(Math.abs(lines.length * 2 - lines[0]!.length) <= 1)
  assert.match(lines[0]!, /^█+$/)
  assert.ok(lines.every((line) => /^[█▀ ▄]{2}/.test(line)))
  assert.ok(qrCode('x', pc.createColors(true)).startsWith('\x1b[40m\x1b[97m'))
})

test('against a stand-in: maintenance is switched on and off, and the other rules and what was set stay', async () => {
  const kept = { enabled: false, message: 'Soon.', allowIps: ['10.0.0.0/8'] }
  await using service = await standIn(rulesRoutes({ ...rules, maintenance: kept }))
  const { url } = service
  const on = await stq(['maintenance', 'on', 'shop', '--retry-after', '10m'], { url })
  assert.equal(on.code, 0, on.stderr)
  const sent = service.calls.find(({ method }) => method === 'PUT')
  assert.deepEqual(sent?.body, {
    ...rules,
    maintenance: { ...kept, enabled: true, retryAfterSeconds: 600, page: true },
  })
  assert.equal(sent?.headers['if-match'], '"rules-4"')
  assert.match(on.stdout, /Maintenance +503, again after 600 s, but for 10\.0\.0\.0\/8/)
  const off = await stq(['maintenance', 'off', 'shop'], { url })
  assert.equal(off.code, 0, off.stderr)
  assert.deepEqual(service.calls.findLast(({ method }) => method === 'PUT')?.body, { ...rules, maintenance: kept })
  const bad = await stq(['maintenance', 'on', 'shop', '--retry-after', 'soon'], { url })
  assert.equal(bad.code, 2)
})
