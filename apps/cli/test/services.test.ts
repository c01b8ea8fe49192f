import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProjectView } from '@stackquay/contract'
import type { CliError } from '../src/errors.ts'
import { catalogue, offeredService, readOnlyPort, teapotSchema } from './catalogue.ts'
import { stq } from './run-stq.ts'
import { answerProblem, emptyPlan, operation, problem, project, standIn, step } from './stand-in.ts'
import { onTerminal } from './terminal.ts'

const ended = operation({ state: 'succeeded', steps: [step('pour', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const services = { 'GET /services': () => catalogue, 'GET /projects/shop': () => project() }
const on = { enabled: true, version: '8', exposePort: false, hostPort: null }
const withTeapot = (settings: object = on) => project({ teapot: settings } as Partial<ProjectView>)

test('against a stand-in: services lists the catalogue, and why something cannot be had here', async () => {
  await using service = await standIn(services)
  const { stdout } = await stq(['services'], { url: service.url })
  assert.match(stdout, /^SERVICE +KIND +WHAT +VERSIONS\nteapot +service +Teapot +8\* {2}7\n/)
  assert.match(stdout, /\ncellar +database +Cellar +No Cellar was found; install: apt-get install cellar\n$/)
  assert.equal((await stq(['services', '--quiet'], { url: service.url })).stdout, 'teapot\n')
  assert.deepEqual(JSON.parse((await stq(['services', '--json'], { url: service.url })).stdout), catalogue)
})

test('against a stand-in: help of a service comes from its schema, by its name, its alias, and with --help', async () => {
  await using service = await standIn(services)
  for (const name of ['teapot', 'kettle']) {
    const { stdout } = await stq(['service', 'help', name], { url: service.url })
    assert.match(stdout, /^Teapot \(teapot\)\nKeeps tea warm\.\n/)
    assert.match(stdout, /\nVersions +8\* {2}7\nAlso called +kettle\nPorts +tea 1188\n.*\nVariables +TEA_URL\n/)
    assert.match(stdout, /\n {2}degrees +1 to 100\. How warm\.\n/)
  }
  const own = await stq(['service', 'set', 'shop', 'teapot', '--help'], { url: service.url })
  assert.match(own.stdout, /^Usage: stq service set [\s\S]*\n {2}degrees +1 to 100\. How warm\.\n/)
  assert.deepEqual(service.lines(), ['GET /services', 'GET /services', 'GET /projects/shop', 'GET /services'])

  const alone = await stq(['service', 'set', 'shop', 'teapot', '--help'], { url: 'http://127.0.0.1:1' })
  assert.equal(alone.code, 0)
  assert.match(alone.stdout, /--set-stdin <key>/)
  assert.match((await stq(['service', 'help', 'set'], { url: service.url })).stdout, /^Usage: stq service set /)
})

test('against a stand-in: enable sends what was typed, of the right types, in one PATCH', async () => {
  await using service = await standIn({
    ...services,
    'PATCH /projects/shop': () => ({ ...withTeapot(), operation: operation() }),
    'GET /operations/op_1': () => ended,
  })
  const args = ['--version', '8', '--expose', '--set', 'degrees=60', '--set', 'external.host=tea.example']
  const { code, stdout, stderr } = await stq(['service', 'enable', 'shop', 'kettle', ...args], { url: service.url })
  assert.deepEqual([code, stdout], [0, ''], stderr)
  assert.equal(stderr, '✔ Do pour 3.2 s\n✔ teapot is enabled. How to connect: stq service credentials shop teapot\n')
  const [change] = service.calls.filter(({ method }) => method === 'PATCH')
  assert.deepEqual(change!.body, {
    teapot: { version: '8', exposePort: true, degrees: 60, external: { host: 'tea.example' }, enabled: true },
  })
})

test('against a stand-in: set names only what is to change; a secret comes from standard input', async () => {
  await using service = await standIn({
    ...services,
    'PATCH /projects/shop': ({ query }) =>
      query.get('dryRun') === 'true'
        ? {
            plan: {
              ...emptyPlan,
              steps: [{ title: 'Restart Teapot', workload: 'teapot', because: ['its ports changed'] }],
              restarts: ['teapot'],
              keepsRunning: ['web'],
              changes: [
                { field: 'teapot.exposePort', before: true, after: false },
                { field: 'teapot.note', before: null, after: 'a\x1b[2Jb' },
                { field: 'teapot.guests', before: ['ada'], after: null },
              ],
            },
          }
        : withTeapot({ ...on, enabled: false }),
  })
  const secret = await stq(['service', 'set', 'shop', 'teapot', '--set-stdin', 'external.password'], {
    url: service.url,
    input: 'hush\n',
  })
  assert.equal(secret.stderr, '✔ teapot is set, and off: stq service enable shop teapot\n')
  assert.deepEqual(service.calls.at(-1)!.body, { teapot: { external: { password: 'hush' } } })

  const plan = await stq(['service', 'set', 'shop', 'teapot', '--no-expose', '--dry-run'], { url: service.url })
  assert.equal(
    plan.stdout,
    `Plan
  ~ teapot.exposePort: true → false
  + teapot.note: ab
  - teapot.guests: [ada]
  • Restart Teapot (its ports changed)
  ! restarts teapot
    keeps running: web
`,
  )
  assert.deepEqual(service.calls.at(-1)!.body, { teapot: { exposePort: false } })

  const count = service.calls.length
  const typed = await stq(['service', 'set', 'shop', 'teapot', '--set', 'external.password=hush'], { url: service.url })
  assert.equal(typed.code, 2)
  assert.ok(!typed.stderr.includes('hush'))
  assert.equal((await stq(['service', 'set', 'shop', 'teapot'], { url: service.url })).code, 2)
  assert.deepEqual(service.lines().slice(count), ['GET /projects/shop', 'GET /services'])
})

test('against a stand-in: a service that does not exist is not found, and a database has its own commands', async () => {
  await using service = await standIn(services)
  const unknown = await stq(['service', 'enable', 'shop', 'teapt'], { url: service.url })
  assert.equal(unknown.code, 4)
  assert.match(unknown.stderr, /There is no service "teapt"\.\n.*Did you mean "teapot"\?/)
  const database = await stq(['service', 'enable', 'shop', 'cellar'], { url: service.url })
  assert.equal(database.code, 2)
  assert.match(database.stderr, /is a database.*\n.*stq db/)
})

test('against a stand-in: disable keeps data without a question, and deletes it only with the name typed', async () => {
  await using service = await standIn({
    ...services,
    'PATCH /projects/shop': ({ query }) =>
      query.get('dryRun') === 'true'
        ? { plan: { ...emptyPlan, deletesData: ['teapot'] } }
        : withTeapot({ ...on, enabled: false }),
  })
  const kept = await stq(['service', 'disable', 'shop', 'teapot'], { url: service.url })
  assert.deepEqual([kept.code, kept.stderr], [0, '✔ teapot is off, and its data is kept\n'])
  assert.deepEqual(service.calls.at(-1)!.body, { teapot: { enabled: false } })

  await using without = await standIn({ ...services, 'PATCH /projects/shop': () => project() })
  const never = await stq(['service', 'disable', 'shop', 'teapot'], { url: without.url })
  assert.deepEqual([never.code, never.stderr], [0, '✔ teapot was never on; nothing is different\n'])

  const remove = ['service', 'disable', 'shop', 'teapot', '--remove-data']
  const before = service.lines().filter((line) => line.startsWith('PATCH')).length
  assert.equal((await stq(remove, { url: service.url })).code, 2)
  assert.equal((await stq([...remove, '--confirm', 'shop'], { url: service.url })).code, 2)
  assert.equal(service.lines().filter((line) => line.startsWith('PATCH')).length, before)
  const wrong = await onTerminal(remove, { url: service.url, answers: { 'to confirm': 'shop' } })
  assert.match(String(wrong.error), /"shop" is not "teapot"; nothing was done/)
  const left = await onTerminal(remove, { url: service.url, interruptAt: 'to confirm' })
  assert.match(String(left.error), /Nothing was done\./)
  assert.equal((left.error as CliError).exitCode, 130)
  assert.ok(
    service.calls.every(({ body, query }) => !JSON.stringify(body).includes('removeData') || query.has('dryRun')),
  )

  const removed = await stq([...remove, '--confirm', 'teapot', '--json'], { url: service.url })
  assert.deepEqual(JSON.parse(removed.stdout), {
    project: 'shop',
    service: 'teapot',
    enabled: false,
    removedData: true,
  })
  assert.deepEqual(service.calls.at(-1)!.body, { teapot: { enabled: false, removeData: true } })
})

test('against a stand-in: on a terminal the plan stands there before the name is asked for', async () => {
  await using service = await standIn({
    ...services,
    'PATCH /projects/shop': ({ query }) =>
      query.get('dryRun') === 'true'
        ? { plan: { ...emptyPlan, deletesData: ['teapot'] } }
        : withTeapot({ ...on, enabled: false }),
  })
  const { stderr, error } = await onTerminal(['service', 'disable', 'shop', 'teapot', '--remove-data'], {
    url: service.url,
    answers: { 'Type "teapot" to confirm': 'teapot' },
  })
  assert.equal(error, null)
  assert.match(
    stderr,
    /Plan\n {2}! deletes data: teapot\nThis switches teapot of shop off and deletes all its data; it stays in the trash for a time\.\n/,
  )
  assert.match(stderr, /✔ teapot is off, and its data is deleted\n$/)
})

test('against a stand-in: list shows state, port and kept data of each service; show its settings', async () => {
  const workload = {
    name: 'teapot',
    title: 'Teapot 8',
    kind: 'service' as const,
    state: 'running' as const,
    since: null,
    health: 'healthy' as const,
    pid: 1,
    ports: [{ name: 'tea', port: 1188, hostPort: 20011 }],
    restarts: 0,
    nextRestartAt: null,
    lastExit: null,
    reason: null,
    logTail: [],
  }
  const shop = withTeapot({ ...on, external: { host: 'tea.example', hasPassword: true }, guests: ['ada', 'bob'] })
  await using service = await standIn({
    ...services,
    'GET /projects/shop': () => ({ ...shop, status: { ...shop.status, workloads: [workload] } }),
    'GET /projects/shop/extras': () => ({
      services: [
        { kind: 'teapot', enabled: true, version: '8' },
        { kind: 'icebox', enabled: false, version: '3' },
        { kind: 'oven', enabled: true, version: '1' },
      ],
      keptData: [{ kind: 'icebox', version: '3', sizeBytes: 1_400_000, keptAt: null }],
    }),
  })
  const { stdout } = await stq(['service', 'shop'], { url: service.url })
  assert.match(stdout, /\nteapot +● running +8 +20011\nicebox +○ off +3 +- +1\.4 MB\noven +· elsewhere +1 +-\n$/)
  const json = JSON.parse((await stq(['service', 'list', 'shop', '--json'], { url: service.url })).stdout)
  assert.deepEqual(
    json.items.map((item: { name: string; state: string | null }) => [item.name, item.state]),
    [
      ['teapot', 'running'],
      ['icebox', null],
      ['oven', null],
    ],
  )
  const shown = await stq(['service', 'show', 'shop', 'teapot'], { url: service.url })
  assert.match(shown.stdout, /\nexternal\.host +tea\.example\nexternal\.hasPassword +true\nguests +ada,bob\n$/)
  assert.equal((await stq(['service', 'show', 'shop', 'kettle'], { url: service.url })).code, 0)
})

test('against a stand-in: credentials are shown, and one field alone exactly', async () => {
  const found = { host: '127.0.0.1', port: 20011, password: 'a b\x9b', url: 'tea://127.0.0.1:20011', username: null }
  await using service = await standIn({ ...services, 'GET /projects/shop/teapot/credentials': () => found })
  const args = ['service', 'credentials', 'shop', 'teapot']
  const human = await stq(args, { url: service.url })
  assert.match(human.stdout, /^host +127\.0\.0\.1\nport +20011\npassword +a b\nurl +tea:.*\nusername +-\n$/)
  assert.equal((await stq([...args, '--quiet'], { url: service.url })).stdout, 'tea://127.0.0.1:20011\n')
  assert.equal((await stq([...args, '--field', 'password'], { url: service.url })).stdout, 'a b\x9b')
  const json = (await stq([...args, '--json'], { url: service.url })).stdout
  assert.deepEqual(JSON.parse(json), found)
  assert.ok(json.includes('\\u009b') && !json.includes('\x9b'), 'JSON on a terminal cannot steer it')
  for (const field of ['username', 'toString'])
    assert.equal((await stq([...args, '--field', field], { url: service.url })).code, 4)
})

test('against a stand-in: rotate shows the plan, and on a terminal asks', async () => {
  await using service = await standIn({
    ...services,
    'POST /projects/shop/teapot/credentials/rotate': ({ query }) =>
      query.get('dryRun') === 'true' ? { plan: { ...emptyPlan, restarts: ['teapot', 'web'] } } : withTeapot(),
  })
  const script = await stq(['service', 'rotate', 'shop', 'teapot'], { url: service.url })
  assert.equal(
    script.stderr,
    'Plan\n  ! restarts teapot, web\n✔ teapot has new secrets: stq service credentials shop teapot\n',
  )
  assert.ok(service.calls.at(-1)!.headers['idempotency-key'])
  const count = service.calls.length
  const no = await onTerminal(['service', 'rotate', 'shop', 'teapot'], {
    url: service.url,
    answers: { 'Go on? [y/N]': 'n' },
  })
  assert.match(String(no.error), /Nothing was done/)
  const posts = service.calls.slice(count).filter(({ method }) => method === 'POST')
  assert.deepEqual(
    posts.map(({ query }) => query.get('dryRun')),
    ['true'],
  )
  const yes = await onTerminal(['service', 'rotate', 'shop', 'teapot'], {
    url: service.url,
    answers: { 'Go on? [y/N]': 'y' },
  })
  assert.equal(yes.error, null)
  assert.equal(service.calls.at(-1)!.query.has('dryRun'), false)
})

test('against a stand-in: a service without secrets says what runtimes receive, and nothing is done', async () => {
  const items = [offeredService({ hasCredentials: false, hasInbox: true })]
  await using service = await standIn({
    ...services,
    'GET /services': () => ({ engine: 'native', items }),
    'PATCH /projects/shop': () => withTeapot(),
  })
  for (const act of ['credentials', 'rotate']) {
    const { code, stderr } = await stq(['service', act, 'shop', 'teapot'], { url: service.url })
    assert.equal(code, 4)
    assert.match(stderr, /Teapot has no credentials\.\n.*Runtimes receive TEA_URL\./)
  }
  const reads = ['GET /projects/shop', 'GET /services']
  assert.deepEqual(service.lines(), [...reads, ...reads])
  const enabled = await stq(['service', 'enable', 'shop', 'teapot'], { url: service.url })
  assert.equal(enabled.stderr, '✔ teapot is enabled. The mails it catches: stq mail shop\n')
})

test('against a stand-in: kept data is listed, and deleted only with the name of its service typed', async () => {
  const keptData = [{ kind: 'teapot', version: '8', sizeBytes: 27_000_000, keptAt: new Date().toISOString() }]
  await using service = await standIn({
    'GET /projects/shop/extras': () => ({ services: [], keptData }),
    'DELETE /projects/shop/extras/teapot/data': ({ query }) =>
      query.get('dryRun') === 'true' ? { plan: { ...emptyPlan, deletesData: ['teapot'] } } : project(),
  })
  assert.match((await stq(['data', 'shop'], { url: service.url })).stdout, /\nteapot +8 +27 MB +(now|\d.*ago)\n$/)
  assert.deepEqual(JSON.parse((await stq(['data', 'shop', '--json'], { url: service.url })).stdout), {
    items: keptData,
  })
  const refused = await stq(['data', 'delete', 'shop', 'teapot'], { url: service.url })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--confirm teapot/)
  assert.ok(!service.lines().some((line) => line.startsWith('DELETE')))
  const none = await stq(['data', 'delete', 'shop', 'kettle', '--confirm', 'kettle'], { url: service.url })
  assert.equal(none.code, 4)
  assert.ok(!service.lines().some((line) => line.startsWith('DELETE')))
  const dry = await stq(['data', 'delete', 'shop', '--dry-run'], { url: service.url })
  assert.equal(dry.stdout, 'Plan\n  ! deletes data: teapot\n')
  const done = await stq(['data', 'delete', 'shop', '--confirm', 'teapot'], { url: service.url })
  assert.match(done.stderr, /✔ The data of teapot is deleted\n$/)
  assert.ok(!service.calls.at(-1)!.query.has('dryRun'))
})

test('against a stand-in: what the service refuses of a service is told field by field', async () => {
  await using service = await standIn({
    ...services,
    'PATCH /projects/shop': (_call, response) =>
      answerProblem(
        response,
        problem(422, 'validation_failed', {
          errors: [
            { pointer: '/teapot/exposePort', code: 'always_published', detail: 'It always publishes its port.' },
          ],
        }),
      ),
  })
  const { code, stderr } = await stq(['service', 'set', 'shop', 'teapot', '--no-expose'], { url: service.url })
  assert.equal(code, 1)
  assert.match(stderr, /\n {2}teapot\.exposePort: It always publishes its port\.\n {2}→ Hint of validation_failed/)
})

test('against a stand-in: what stands beside its field is said once', async () => {
  const detail = 'It always publishes its port.'
  const errors = [{ pointer: '/teapot/exposePort', code: 'always_published', detail }]
  const rest = { title: 'Not valid', detail, hint: 'See "errors" for each of them.', errors }
  await using service = await standIn({
    ...services,
    'PATCH /projects/shop': (_call, response) => answerProblem(response, problem(422, 'validation_failed', rest)),
  })
  const { stderr } = await stq(['service', 'set', 'shop', 'teapot', '--no-expose'], { url: service.url })
  assert.equal(stderr, `✖ Not valid.\n  teapot.exposePort: ${detail}\n`)
})

test('against a stand-in: a runtime is set by its schema, listed and shown', async () => {
  const settings = { enabled: true, version: '24', preset: 'brew', mode: 'development', hostPort: 20001 }
  const offered = {
    name: 'kitchen',
    label: 'Kitchen',
    summary: 'Cooks.',
    available: true,
    reason: null,
    install: null,
    versions: [],
    presets: [{ name: 'brew', label: 'Brew', port: 3000, summary: 'Brews.' }],
    modes: ['development'],
    settingsSchema: {
      properties: { ...teapotSchema.properties, port: { type: 'integer' }, hostPort: readOnlyPort },
      $defs: teapotSchema.$defs,
    },
  }
  const shop = project({ kitchen: settings } as Partial<ProjectView>)
  await using service = await standIn({
    'GET /runtimes': () => ({ engine: 'native', runtimes: [offered], templates: [] }),
    'GET /projects/shop': () => shop,
    'PATCH /projects/shop': () => shop,
  })
  const set = ['runtime', 'set', 'shop', 'kitchen', '--version', '24', '--set', 'port=3000', '--set', 'cup.size=2']
  assert.equal((await stq(set, { url: service.url })).stderr, '✔ kitchen is set\n')
  assert.deepEqual(service.calls.at(-1)!.body, { kitchen: { version: '24', port: 3000, cup: { size: 2 } } })
  assert.match((await stq(['runtime', 'shop'], { url: service.url })).stdout, /\nkitchen +· no server +24 +brew +devel/)
  assert.match((await stq(['runtime', 'show', 'shop', 'kitchen'], { url: service.url })).stdout, /\npreset +brew\n/)
  assert.match((await stq(['runtime', 'help', 'kitchen'], { url: service.url })).stdout, /\nPresets +brew \(3000\)\n/)
})

test('against a stand-in: offers for a project are those of its engine, and a catalogue is of the engine that is named', async () => {
  const asked: (string | null)[] = []
  const answer = ({ query }: { query: URLSearchParams }) => {
    asked.push(query.get('engine'))
    return { ...catalogue, runtimes: [], templates: [] }
  }
  await using service = await standIn({
    'GET /services': answer,
    'GET /runtimes': answer,
    'GET /projects/shop': () => ({ ...withTeapot(), engine: 'docker' }),
    'PATCH /projects/shop': () => withTeapot(),
    'GET /projects/new': () => ({ ...project(), engine: 'newer' }),
  })
  const all = [
    ['service', 'enable', 'shop', 'teapot'],
    ['service', 'set', 'shop', 'teapot', '--set', 'degrees=1'],
    ['service', 'show', 'shop', 'teapot'],
    ['service', 'disable', 'shop', 'teapot'],
    ['service', 'set', 'shop', 'teapot', '--help'],
    ['runtime', 'list', 'shop'],
    ['runtime', 'set', 'shop', 'kitchen', '--set', 'port=1'],
    ['runtime', 'show', 'shop', 'kitchen'],
    ...['services', 'runtimes', 'templates'].map((word) => [word, '--engine', 'docker']),
  ]
  for (const args of all) await stq(args, { url: service.url })
  assert.deepEqual(
    asked,
    all.map(() => 'docker'),
  )
  for (const args of [['services'], ['runtime', 'list', 'new']]) await stq(args, { url: service.url })
  assert.deepEqual(asked.slice(all.length), [null, null])
  assert.equal((await stq(['runtimes', '--engine', 'podman'], { url: service.url })).code, 2)
})

test('against a stand-in: variables can be for certain runtimes, and keep their value while that changes', async () => {
  await using service = await standIn({ 'PATCH /projects/shop': () => project() })
  const env = (...args: string[]) => stq(['env', 'set', 'shop', ...args], { url: service.url })
  await env('A=1', '--runtime', 'one', '--runtime', 'two')
  assert.deepEqual(service.calls.at(-1)!.body, { env: { A: { value: '1', runtimes: ['one', 'two'] } } })
  await env('A', '--keep', '--all-runtimes')
  assert.deepEqual(service.calls.at(-1)!.body, { env: { A: { runtimes: null } } })
  const count = service.calls.length
  for (const wrong of [
    ['A=1', '--keep', '--runtime', 'one'],
    ['A', '--keep'],
    ['A=1', '--runtime', 'x', '--all-runtimes'],
  ])
    assert.equal((await env(...wrong)).code, 2, wrong.join(' '))
  assert.equal(service.calls.length, count)
})

test('against a stand-in: a database is changed, gets a new password, and is dropped with its name typed', async () => {
  const main = { type: 'cellar', version: '18', exposePort: true, primary: true, hostPort: 20010 }
  const plan = { plan: { ...emptyPlan, restarts: ['cellar-main'] } }
  const answer = ({ query }: { query: URLSearchParams }) =>
    query.get('dryRun') === 'true' ? plan : project({ databases: { main } })
  await using service = await standIn({
    'PATCH /projects/shop/databases/main': answer,
    [`GET /projects/${project().id}`]: () => project({ databases: { main } }),
    'POST /projects/shop/databases/main/credentials/rotate': answer,
    'DELETE /projects/shop/databases/main': answer,
  })
  const db = (...args: string[]) => stq(['db', ...args], { url: service.url })
  const changed = await db('update', 'shop', 'main', '--expose', '--version', '18', '--json')
  assert.deepEqual(service.calls.at(-2)!.body, { version: '18', exposePort: true })
  assert.deepEqual(JSON.parse(changed.stdout), { project: 'shop', name: 'main', ...main })
  assert.equal(
    (await db('update', 'shop', 'main', '--no-expose', '--dry-run')).stdout,
    'Plan\n  ! restarts cellar-main\n',
  )
  assert.equal((await db('update', 'shop', 'main')).code, 2)
  assert.match(
    (await db('rotate', 'shop', 'main')).stderr,
    /✔ main has a new password: stq db credentials shop main\n$/,
  )
  const count = service.calls.length
  assert.equal((await db('delete', 'shop', 'main')).code, 2)
  assert.equal(service.calls.length, count)
  assert.match((await db('delete', 'shop', 'main', '--confirm', 'main')).stderr, /✔ main is dropped\n$/)
  assert.equal(service.calls.at(-1)!.query.get('confirm'), 'main')
})

test('"--version" before a command is the program’s, and after it the command’s', async () => {
  assert.match((await stq(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/)
  assert.match((await stq(['--json', '--version', 'list'])).stdout, /^\d+\.\d+\.\d+\n$/)
  assert.match((await stq(['--url', 'http://127.0.0.1:1', '-V'])).stdout, /^\d+\.\d+\.\d+\n$/)
  assert.equal((await stq(['list', '--version'])).code, 2)
  assert.match((await stq(['--help'])).stdout, /-V, --version +print the version/)
})
