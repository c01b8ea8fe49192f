import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandEntries } from '../src/commands/index.ts'
import { stq } from './run-stq.ts'
import { answerProblem, emptyPlan, operation, problem, project, standIn } from './stand-in.ts'

const ended = operation({ state: 'succeeded', finishedAt: '2026-01-01T00:00:04Z' })

test('help lists every command, and every command and topic has help of its own', async () => {
  const { code, stdout } = await stq([])
  assert.equal(code, 0)
  for (const { name, summary } of commandEntries)
    assert.match(stdout, new RegExp(`^  ${name} .*${summary.slice(0, 20)}`, 'm'))
  const two = await stq(['help', 'env', 'set'])
  assert.match(two.stdout, /^Usage: stq env set \[options\] <project> <pairs\.\.\.>/)
  assert.match(two.stdout, /--secret/)
  const own = await stq(['logs', '--help'])
  assert.match(own.stdout, /--follow[\s\S]*Global Options:[\s\S]*--json/)
  for (const name of [
    'audit',
    'data',
    'db',
    'env',
    'mail',
    'notify',
    'operations',
    'runs',
    'runtime',
    'service',
    'webhooks',
  ]) {
    const parent = await stq([name, '--help'])
    assert.equal(parent.code, 0, parent.stderr)
    assert.match(parent.stdout, /\nCommands:\n {2}list /)
  }
  for (const topic of ['environment', 'project-file', 'scripts']) assert.equal((await stq(['help', topic])).code, 0)
  const unknown = await stq(['help', 'cooking'])
  assert.deepEqual([unknown.code, unknown.stdout], [2, ''])
})

test('a mistyped command names the nearest one', async () => {
  const { stderr } = await stq(['strat', 'shop'])
  assert.match(stderr, /^✖ Unknown command 'strat'\.\n {2}→ \(Did you mean (one of )?.*start/)
})

test('against a stand-in: list shows a table, --quiet slugs, --json the items of all pages', async () => {
  const second = project({ id: 'prj_2', slug: 'blog', status: { ...project().status, state: 'failed' } })
  await using service = await standIn({
    'GET /projects': ({ query }) =>
      query.has('cursor') ? { items: [second], nextCursor: null } : { items: [project()], nextCursor: 'next' },
  })
  const human = await stq(['list'], { url: service.url })
  assert.match(human.stdout, /^PROJECT {2}STATE {6}SINCE .*\nshop {5}● running {2}.*\nblog {5}✖ failed {3}.*\n$/)
  assert.equal((await stq(['list', '--quiet'], { url: service.url })).stdout, 'shop\nblog\n')
  const json = JSON.parse((await stq(['list', '--json', '--state', 'failed'], { url: service.url })).stdout)
  assert.deepEqual(
    json.items.map((item: { slug: string }) => item.slug),
    ['blog'],
  )
})

test('against a stand-in: an error with --json is one line of JSON on standard error', async () => {
  await using service = await standIn({
    'GET /projects/shop': (_call, response) => answerProblem(response, problem(404, 'not_found')),
  })
  const { code, stdout, stderr } = await stq(['show', 'shop', '--json'], { url: service.url })
  assert.deepEqual([code, stdout], [4, ''])
  const { error } = JSON.parse(stderr)
  assert.deepEqual([error.code, error.detail, error.exitCode], ['not_found', 'Detail of not_found.', 4])
})

test('against a stand-in: show says why a workload does not run, with its last lines', async () => {
  const crashed = {
    name: 'web',
    title: 'Node 24',
    kind: 'runtime' as const,
    state: 'crashed' as const,
    since: null,
    health: 'none' as const,
    pid: null,
    ports: [{ name: 'http', port: 3000, hostPort: 20001 }],
    restarts: 5,
    nextRestartAt: null,
    lastExit: null,
    reason: 'It ended with code 1 five times.',
    logTail: ['Error: no such module'],
  }
  await using service = await standIn({
    'GET /projects/shop': () => project({ status: { ...project().status, state: 'failed', workloads: [crashed] } }),
  })
  const { stdout } = await stq(['show', 'shop'], { url: service.url })
  assert.match(stdout, /State +✖ failed since/)
  assert.match(stdout, /web +✖ crashed +- +- +20001 +5 +Node 24/)
  assert.match(stdout, /! web: It ended with code 1 five times\.\n {2}│ Error: no such module/)
})

test('against a stand-in: create sends one source, and refuses two', async () => {
  await using service = await standIn({
    'POST /projects': () => project({ operation: operation({ kind: 'create' }) }),
    'GET /operations/op_1': () => ended,
    'GET /projects/prj_1': () => project(),
  })
  const git = await stq(['create', 'Shop', '--git', 'https://example.org/shop.git', '--branch', 'main', '--no-start'], {
    url: service.url,
  })
  assert.deepEqual([git.code, git.stdout], [0, 'http://shop.localhost:8780\n'])
  assert.deepEqual(service.calls[0]!.body, {
    name: 'Shop',
    git: { url: 'https://example.org/shop.git', branch: 'main' },
    start: false,
  })
  const count = service.calls.length
  for (const wrong of [
    ['--git', 'x', '--template', 'y'],
    ['--branch', 'main'],
  ]) {
    assert.equal((await stq(['create', 'Shop', ...wrong], { url: service.url })).code, 2)
  }
  assert.equal(service.calls.length, count)
})

test('against a stand-in: delete needs the slug typed, and says what happens to data', async () => {
  await using service = await standIn({
    'GET /projects/prj_1': () => project(),
    'DELETE /projects/prj_1': () => operation({ kind: 'delete' }),
    'GET /operations/op_1': () => ended,
  })
  const without = await stq(['delete', 'prj_1'], { url: service.url })
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--confirm shop/)
  assert.equal((await stq(['delete', 'prj_1', '--confirm', 'blog'], { url: service.url })).code, 2)
  assert.ok(!service.lines().includes('DELETE /projects/prj_1'))
  const done = await stq(['delete', 'prj_1', '--confirm', 'shop', '--data', 'delete'], { url: service.url })
  assert.deepEqual([done.code, done.stdout, done.stderr], [0, '', '✔ shop is deleted\n'])
  const call = service.calls.find(({ method }) => method === 'DELETE')!
  assert.deepEqual(Object.fromEntries(call.query), { confirm: 'shop', data: 'delete' })
})

test('against a stand-in: a delete is done when operation and project are both gone, and not when the project is there', async () => {
  let reads = 0
  let there = false
  await using service = await standIn({
    'GET /projects/prj_1': (_call, response) =>
      ++reads % 2 === 1 || there ? project() : answerProblem(response, problem(404, 'not_found')),
    'DELETE /projects/prj_1': () => operation({ kind: 'delete' }),
  })
  const gone = await stq(['delete', 'prj_1', '--confirm', 'shop', '--json'], { url: service.url })
  assert.equal(gone.code, 0, gone.stderr)
  assert.deepEqual(JSON.parse(gone.stdout), { id: 'prj_1', slug: 'shop', deleted: true, data: 'keep' })
  there = true
  assert.equal((await stq(['delete', 'prj_1', '--confirm', 'shop'], { url: service.url })).code, 4)
})

test('against a stand-in: --dry-run shows the plan and changes nothing', async () => {
  await using service = await standIn({
    'POST /projects/shop/stop': ({ query }) =>
      query.get('dryRun') === 'true'
        ? { plan: { ...emptyPlan, steps: [{ title: 'Stop node', workload: 'node', because: ['it was asked for'] }] } }
        : operation(),
  })
  const { code, stdout } = await stq(['stop', 'shop', '--dry-run'], { url: service.url })
  assert.deepEqual([code, stdout], [0, 'Plan\n  • Stop node (it was asked for)\n'])
})

test('against a stand-in: --no-wait answers at once with the operation', async () => {
  await using service = await standIn({
    'POST /projects/shop/restart': ({ body }) => operation({ kind: 'restart', actor: JSON.stringify(body) }),
  })
  const { code, stdout } = await stq(['restart', 'shop', '--workload', 'web', '--no-wait', '--json'], {
    url: service.url,
  })
  assert.equal(code, 0)
  assert.deepEqual([JSON.parse(stdout).id, JSON.parse(stdout).actor], ['op_1', '{"workload":"web"}'])
})

const line = (workload: string, text: string, cursor: string) => ({
  workload,
  time: '2026-01-01T00:00:00.000Z',
  stream: 'stdout',
  text,
  cursor,
})

test('against a stand-in: logs are prefixed with their workload, and --json gives one object per line', async () => {
  await using service = await standIn({
    'GET /projects/shop/logs': () => ({
      items: [line('web', 'ready', 'a'), line('db', '\x1b[32mup\x1b[2J', 'b')],
      nextCursor: null,
    }),
  })
  const human = await stq(['logs', 'shop', '--tail', '10'], { url: service.url })
  assert.equal(human.stdout, 'web | ready\ndb  | up\n')
  assert.equal(service.calls[0]!.query.get('limit'), '10')
  const json = await stq(['logs', 'shop', '--json'], { url: service.url })
  assert.deepEqual(
    json.stdout
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text).text),
    ['ready', '\x1b[32mup\x1b[2J'],
  )
})

test('against a stand-in: logs --since takes a time or how long ago, and shows when lines were written', async () => {
  await using service = await standIn({
    'GET /projects/shop/logs': () => ({ items: [line('web', 'one', 'a')], nextCursor: 'a' }),
  })
  const args = ['logs', 'shop', '--no-prefix', '-t', '--grep', 'ONE', '--since']
  const { stdout } = await stq([...args, '2026-01-01T00:00:00Z'], { url: service.url })
  assert.equal(stdout, '2026-01-01T00:00:00.000Z one\n')
  assert.deepEqual(Object.fromEntries(service.calls[0]!.query), {
    since: '2026-01-01T00:00:00.000Z',
    q: 'ONE',
    limit: '5000',
  })
  await stq([...args, '10m'], { url: service.url })
  const since = Date.parse(service.calls[1]!.query.get('since')!)
  assert.ok(Math.abs(Date.now() - 600_000 - since) < 30_000)
  assert.equal((await stq([...args, 'lunch'], { url: service.url })).code, 2)
})

test('against a stand-in: logs are counted, and searched over all projects page by page', async () => {
  const found = (text: string) => ({ ...line('web', text, 'a'), project: 'shop', level: null })
  const levels = { error: [0, 3], warning: [0, 0], info: [4, 4], debug: [0, 0], none: [1, 0] }
  const nasty = 'ERROR \x1b[2J<n>'
  const error = { pattern: nasty, search: 'ERROR', text: 'x', workload: 'web', count: 3 }
  const at = '2026-01-01T00:00:00.000Z'
  await using service = await standIn({
    'GET /projects/shop/logs/stats': () => ({
      ...{ from: at, stepSeconds: 1800, countedFrom: at, partial: true, levels },
      topErrors: [{ ...error, firstAt: at, lastAt: at }],
    }),
    'GET /logs/search': ({ query }) =>
      query.has('cursor')
        ? { items: [found('older')], nextCursor: null, partial: true, searchedFrom: at }
        : { items: [found('newer \x1b[2J')], nextCursor: '1~1', partial: false, searchedFrom: at },
  })
  const { url } = service
  const stats = await stq(['logs', 'shop', '--stats', '--since', '2h', '-w', 'web'], { url })
  assert.equal(stats.code, 0, stats.stderr)
  assert.match(stats.stdout, /^error +3 +█\n/)
  assert.match(stats.stdout, /\n3 +web +2026-01-01 00:00:00 +ERROR .*<n>\n/)
  assert.ok(!stats.stdout.includes('\x1b'))
  assert.match(stats.stderr, /Time ran out/)
  assert.equal((await stq(['logs', 'shop', '--stats', '--follow'], { url })).code, 2)
  const search = await stq(['logs', '--all', '--grep', 'a b', '-n', '60'], { url })
  assert.deepEqual(search.stdout.match(/ \| .*/g), [' | newer ', ' | older'])
  assert.match(search.stderr, /lines may be missing/)
  const { query } = service.calls.at(-1)!
  assert.deepEqual(
    [query.get('q'), query.get('projects'), query.get('limit'), query.get('cursor')],
    ['a b', null, '59', '1~1'],
  )
})

test('against a stand-in: a health check is tried, and a failed one ends with 1', async () => {
  let status = 200
  await using service = await standIn({
    'POST /projects/shop/health-check/try': () => ({
      ...{ ok: status === 200, status, milliseconds: 12, location: null, text: 'fine \x1b[2J' },
      reason: status === 200 ? null : 'GET /up answered 503, expected 200-299.',
    }),
  })
  const { url } = service
  const fine = await stq(['health', 'try', 'shop', '--path', '/up', '--status', '200-299'], { url })
  assert.deepEqual([fine.code, fine.stdout], [0, '200, 12 ms\nfine \n'])
  assert.deepEqual(service.calls[0]!.body, { path: '/up', status: '200-299' })
  status = 503
  const bad = await stq(['health', 'try', 'shop'], { url })
  assert.equal(bad.code, 1)
  assert.match(bad.stderr, /GET \/up answered 503, expected 200-299\./)
  assert.equal((await stq(['health', 'set', 'shop', '--interval', 'soon'], { url })).code, 2)
})

test('against a stand-in: environment values go in and come out exactly, and secrets stay hidden', async () => {
  const value = 'a=b "q" $HOME #x\ntwo \u{1f680}'
  await using service = await standIn({
    'PATCH /projects/shop': () => project(),
    'GET /projects/shop/env': () => ({
      env: {
        PLAIN: { value, secret: false, runtimes: null },
        KEY: { value: null, secret: true, runtimes: ['worker'] },
      },
      injected: ['DATABASE_URL'],
    }),
    'GET /projects/shop/env/KEY': ({ query }) => ({
      name: 'KEY',
      value: query.get('reveal') === 'true' ? 'hush' : null,
      secret: true,
      runtimes: ['worker'],
    }),
  })
  await stq(['env', 'set', 'shop', `PLAIN=${value}`, 'EMPTY='], { url: service.url })
  assert.deepEqual(service.calls[0]!.body, { env: { PLAIN: { value }, EMPTY: { value: '' } } })
  const piped = await stq(['env', 'set', 'shop', 'KEY', '--secret'], { url: service.url, input: 'hush\n' })
  assert.equal(piped.stderr, '✔ KEY is set\n')
  assert.deepEqual(service.calls[1]!.body, { env: { KEY: { value: 'hush', secret: true } } })
  await stq(['env', 'unset', 'shop', 'KEY'], { url: service.url })
  assert.deepEqual(service.calls[2]!.body, { env: { KEY: null } })

  assert.equal((await stq(['env', 'get', 'shop', 'PLAIN'], { url: service.url })).stdout, value)
  const list = await stq(['env', 'shop'], { url: service.url })
  assert.match(list.stdout, /KEY +•+ +secret, for worker/)
  assert.match(list.stdout, /DATABASE_URL +\(set by Stackquay\)/)
  for (const flags of [[], ['--json']])
    assert.ok(!(await stq(['env', 'shop', ...flags], { url: service.url })).stdout.includes('hush'))
  assert.ok(!service.lines().includes('GET /projects/shop/env/KEY'))
  assert.match((await stq(['env', 'shop', '--reveal'], { url: service.url })).stdout, /hush/)
  assert.equal((await stq(['env', 'get', 'shop', 'KEY'], { url: service.url })).stdout, 'hush')
  assert.equal((await stq(['env', 'get', 'shop', 'NOPE'], { url: service.url })).code, 4)
  assert.equal((await stq(['env', 'set', 'shop', '1X=2'], { url: service.url })).code, 2)
})

test('against a stand-in: databases are listed, made, and connected to', async () => {
  const main = { name: 'main', type: 'postgresql', version: '17', exposePort: false, primary: true, hostPort: 20010 }
  const credentials = {
    host: '127.0.0.1',
    port: 20010,
    hostPort: 20010,
    database: 'main',
    username: 'main',
    password: 'pw',
    url: 'postgresql://main:pw@127.0.0.1:20010/main',
  }
  await using service = await standIn({
    'GET /projects/shop/databases': () => ({ items: [main] }),
    'POST /projects/shop/databases': () => project({ databases: { main } }),
    'GET /projects/shop/databases/main/credentials': () => credentials,
  })
  assert.match((await stq(['db', 'shop'], { url: service.url })).stdout, /main +postgresql +17 +20010/)
  await stq(['db', 'create', 'shop', 'main', '--version', '17'], { url: service.url })
  assert.deepEqual(service.calls[1]!.body, { name: 'main', type: 'postgresql', version: '17' })
  assert.equal(
    (await stq(['db', 'credentials', 'shop', '--quiet'], { url: service.url })).stdout,
    `${credentials.url}\n`,
  )
  assert.equal((await stq(['db', 'credentials', 'shop', '--field', 'password'], { url: service.url })).stdout, 'pw')
  const unknown = await stq(['db', 'credentials', 'shop', 'main', '--field', 'pasword'], { url: service.url })
  assert.deepEqual([unknown.code, unknown.stdout], [4, ''])
  assert.match(unknown.stderr, /There is no "pasword"\.\n.*There is: .*password/)
})

test('against a stand-in: a database whose name cannot be is told the rule before anything is sent', async () => {
  await using service = await standIn({})
  for (const name of ['Main', '1st', 'a b', 'a'.repeat(32), '']) {
    const { code, stderr } = await stq(['db', 'create', 'shop', name], { url: service.url })
    assert.equal(code, 2, name)
    assert.match(stderr, /is not a name for a database\.\n.*Lower-case letters, digits and underscores/)
  }
  assert.deepEqual(service.calls, [])
})

test('a command line that is wrong says where the help of that very command is', async () => {
  const hint = async (...args: string[]) => (await stq(args)).stderr.split('\n')[1]
  assert.equal(await hint('service', 'enable', 'shop'), '  → See: stq service enable --help')
  assert.equal(await hint('create'), '  → See: stq create --help')
  assert.equal(await hint('db', 'list', 'shop', '--nonsense'), '  → See: stq db list --help')
  assert.equal(await hint('qqqqqqq'), '  → See: stq help')
})

test('against a stand-in: api sends what it is told and prints the JSON', async () => {
  await using service = await standIn({ 'PATCH /projects/shop': ({ body }) => ({ got: body }) })
  const { stdout } = await stq(['api', 'patch', '/api/v1/projects/shop?wait=5', '--data', '-'], {
    url: service.url,
    input: '{"name":"New"}',
  })
  assert.deepEqual(JSON.parse(stdout), { got: { name: 'New' } })
  assert.equal(service.calls[0]!.query.get('wait'), '5')
  assert.equal((await stq(['api', 'PATCH', '/projects/shop', '--data', '{oops'], { url: service.url })).code, 2)
  assert.equal((await stq(['api', 'BREW', '/coffee'], { url: service.url })).code, 2)
})

test('against a stand-in: operations are listed with the slug of their project', async () => {
  await using service = await standIn({
    'GET /operations': ({ query }) => ({
      items: query.get('active') === 'true' ? [operation({ progress: 0.5 })] : [],
      nextCursor: null,
    }),
    'GET /projects': () => ({ items: [project()], nextCursor: null }),
  })
  const { stdout } = await stq(['operations', '--active'], { url: service.url })
  assert.match(stdout, /op_1 +start +shop +◐ running 50 % .*ada \(token: ci\)/)
})

test('against a stand-in: what cannot be used here says why and how to get it', async () => {
  const version = {
    version: '24',
    fullVersion: '24.1.0',
    default: true,
    available: true,
    reason: null,
    install: null,
    endOfLife: null,
  }
  const shared = { label: 'L', summary: 'S', reason: null, install: null, presets: [], modes: [], settingsSchema: {} }
  await using service = await standIn({
    'GET /runtimes': () => ({
      engine: 'native',
      runtimes: [
        {
          ...shared,
          name: 'node',
          available: true,
          versions: [version, { ...version, version: '22', default: false }],
        },
        {
          ...shared,
          name: 'go',
          available: false,
          versions: [],
          reason: 'Go is not installed.',
          install: 'apt-get install golang',
        },
      ],
      templates: [
        { ...shared, name: 'express', runtime: 'node', databases: ['postgresql'], example: true, available: true },
      ],
    }),
  })
  const { stdout } = await stq(['runtimes'], { url: service.url })
  assert.match(stdout, /node +L +24\* {2}22\ngo +L +Go is not installed; install: apt-get install golang\n/)
  assert.match((await stq(['templates'], { url: service.url })).stdout, /express +L +node, postgresql +S\n/)
  assert.equal((await stq(['runtimes', '--quiet'], { url: service.url })).stdout, 'node\n')
})
