import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { databaseTypes, serviceTypes } from '@stackquay/catalog'
import { emptySpec, type ProjectSpec } from '@stackquay/domain'
import { EngineError, type Value } from '@stackquay/engine-api'
import { createFakeEngine } from '@stackquay/engine-api/fake-engine'
import { createUserFiles, serviceUser } from '@stackquay/engines'
import { newId } from '@stackquay/store'
import { createCatalogue } from '../src/catalogue/catalogue.ts'
import { createOurPrograms } from '../src/catalogue/our-programs.ts'
import { readConfig } from '../src/config.ts'
import { createFilesOf } from '../src/projects/files-of.ts'
import { createResolver } from '../src/projects/resolver.ts'
import { createTestEnvironments, type TestEnvironment } from '../src/runs/test-environments.ts'

const service = (name: string, more: object = {}) => {
  const kind = serviceTypes.find((one) => one.name === name)!
  return { ...kind.settings.defaults(), enabled: true, version: kind.releases[0]!.version, ...more }
}
const postgresql = { type: 'postgresql', version: '18', exposePort: true, primary: true }
const spec = (more: Partial<Record<keyof ProjectSpec, unknown>> = {}): ProjectSpec =>
  ({ ...emptySpec('Shop'), databases: { main: postgresql }, ...more }) as ProjectSpec

async function testEnvironments(t: TestContext, { ports = '20000-20099' }: { ports?: string } = {}) {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-own-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const engine = createFakeEngine()
  engine.machine.files.has = () => true
  engine.toolchainsFound = [...databaseTypes, ...serviceTypes].flatMap(({ toolchain, releases }) =>
    toolchain === null
      ? []
      : [
          {
            name: toolchain.name,
            version: `${releases[0]!.version}.1`,
            program: '/opt/x/bin/x',
            directory: '/opt/x/bin',
            available: true,
            reason: null,
            bundled: false,
          },
        ],
  )
  const closing = new AbortController()
  t.after(async () => {
    closing.abort()
    await engine.close()
  })
  const config = readConfig({ STACKQUAY_HOME: home, STACKQUAY_PORT_RANGE: ports })
  const leased = { project: 'prj_1', workload: 'postgresql-main', port: 'postgresql', hostPort: 20_099 }
  const store = {
    archives: { of: async () => [], databases: async () => [] },
    ports: { all: async () => [leased], of: async () => [leased] },
    secrets: {
      of: async () => ({}),
      find: async () => null,
      reveal: async () => {
        throw new Error('the store was asked for a secret')
      },
      projectsWith: async () => new Set<string>(),
      ofInstance: async () => ({}),
    },
  }
  const catalogue = createCatalogue({ engine, usual: 'native', signal: closing.signal, fallbackNode: process.execPath })
  const resolver = createResolver({
    config,
    store,
    catalogue,
    programs: createOurPrograms(home),
    filesOf: createFilesOf(serviceUser, createUserFiles()),
    containers: async () => null,
  })
  const reveal = async () => 'of the person, postgresql://main:x@127.0.0.1:20099/main'
  const keeper = createTestEnvironments({ store, resolver, engine, config, held: new Map(), reveal })
  const open = (run = newId('run'), more: ProjectSpec = spec(), signal = AbortSignal.timeout(30_000)) =>
    keeper.open({
      run,
      project: { id: 'prj_1', slug: 'shop', path: home, spec: more, engine: 'native' },
      signal,
      onPhase: (title) => phases.push(title),
    })
  const phases: string[] = []
  const workloadsOf = (run: string) => [...engine.machine.workloads.keys()].filter((key) => key.startsWith(`${run}/`))
  const dataOf = (run: string) => [...engine.machine.data.keys()].filter((key) => key.startsWith(`${run}/`))
  return { engine, keeper, open, phases, workloadsOf, dataOf }
}

const envOf = (data: TestEnvironment) => data.commands.environments[0]!.env
async function text(data: TestEnvironment, value: Value | undefined): Promise<string> {
  if (value === undefined || typeof value === 'string') return value ?? ''
  return (await Promise.all(value.map((part) => (typeof part === 'string' ? part : data.reveal(part))))).join('')
}

test('a run gets databases of its own, on other ports and with other passwords, and nothing of them stays', async (t) => {
  const { open, phases, workloadsOf, dataOf, engine } = await testEnvironments(t)
  const run = newId('run')
  const data = await open(run)
  assert.deepEqual(workloadsOf(run), [`${run}/postgresql-main`])
  const url = await text(data, envOf(data).DATABASE_URL)
  assert.match(url, /^postgresql:\/\/main:[0-9A-Za-z]{32}@127\.0\.0\.1:200\d\d\/main$/)
  assert.ok(!url.includes(':20099/'), 'the lease of the project is not used')
  assert.ok(phases.some((phase) => phase.startsWith('Start PostgreSQL')))
  assert.equal(JSON.stringify(engine.applied).includes(await text(data, envOf(data).PGPASSWORD)), false)
  await data.close()
  assert.deepEqual([...workloadsOf(run), ...dataOf(run)], [])
  await data.close()
})

test('runs at the same time share neither ports nor data nor secrets', async (t) => {
  const { open } = await testEnvironments(t)
  const all = await Promise.all(Array.from({ length: 10 }, () => open()))
  const urls = await Promise.all(all.map((data) => text(data, envOf(data).DATABASE_URL)))
  assert.equal(new Set(urls.map((url) => new URL(url).port)).size, 10)
  assert.equal(new Set(urls.map((url) => new URL(url).password)).size, 10)
  await Promise.all(all.map((data) => data.close()))
})

test('what is quick and holds data is made anew; of the rest there are no variables, least of all those of development', async (t) => {
  const { open, workloadsOf } = await testEnvironments(t)
  const run = newId('run')
  const services = Object.fromEntries(serviceTypes.map(({ name }) => [name, service(name)]))
  const data = await open(run, spec({ services }))
  const names = workloadsOf(run).map((key) => key.split('/')[1])
  for (const kind of serviceTypes) {
    assert.equal(names.includes(kind.name), kind.forTests === 'own', kind.name)
    for (const variable of kind.injects)
      assert.equal(Object.hasOwn(envOf(data), variable), kind.forTests === 'own', variable)
  }
  await data.close()
})

test('the person’s own variables are there, but none in place of an injected one, and none that leads to development', async (t) => {
  const { open } = await testEnvironments(t)
  const env = {
    DATABASE_URL: { secret: false, value: 'postgresql://main:x@127.0.0.1:20099/main' },
    MINE: { secret: false, value: 'postgresql://main:x@127.0.0.1:20099/main' },
    COLOUR: { secret: false, value: 'blue' },
    KEY: { secret: true, ref: { secret: 'sec_1', version: 1 } },
  }
  const data = await open(newId('run'), spec({ env }))
  assert.match(await text(data, envOf(data).DATABASE_URL), /:[0-9A-Za-z]{32}@/)
  assert.ok(!(await text(data, envOf(data).MINE)).includes('20099'))
  assert.equal(await text(data, envOf(data).COLOUR), 'blue')
  const own = new URL(await text(data, envOf(data).DATABASE_URL)).port
  assert.equal(await text(data, envOf(data).KEY), `of the person, postgresql://main:x@127.0.0.1:${own}/main`)
  await data.close()
})

test('a database that cannot start leaves nothing, and says why', async (t) => {
  const { open, engine, workloadsOf, dataOf } = await testEnvironments(t)
  engine.failNext('ready', new EngineError('never_ready', 'It does not answer.', { hint: 'See its log.' }))
  const run = newId('run')
  await assert.rejects(open(run), /does not answer/)
  assert.deepEqual([...workloadsOf(run), ...dataOf(run)], [])
  const missing = spec({ databases: { main: { ...postgresql, version: '9' } } })
  await assert.rejects(open(newId('run'), missing), /PostgreSQL 9 is not available/)
})

test('a port that somebody takes in the last moment is no failure', async (t) => {
  const { open, engine } = await testEnvironments(t)
  engine.failNext('start', new EngineError('port_in_use', 'Taken.', { hint: 'Wait.', retryable: true }))
  const data = await open()
  assert.ok(await text(data, envOf(data).DATABASE_URL))
  await data.close()
})

test('without a free port a run is refused, and ports come back with those who had them', async (t) => {
  const { open } = await testEnvironments(t, { ports: '20000-20001' })
  const both = await Promise.all([open(), open()])
  await assert.rejects(open(), /No port of 20000-20001 is free/)
  await both[0].close()
  await (await open()).close()
  await both[1].close()
})

test('given up while it is being made, nothing of it stays', async (t) => {
  const { open, engine, workloadsOf, dataOf } = await testEnvironments(t)
  engine.hangNext('ready')
  const run = newId('run')
  const given = new AbortController()
  const opening = open(run, spec(), given.signal)
  const deadline = Date.now() + 30_000
  while (workloadsOf(run).length === 0 && Date.now() < deadline) await new Promise(setImmediate)
  given.abort(new Error('cancelled'))
  await assert.rejects(opening)
  assert.deepEqual([...workloadsOf(run), ...dataOf(run)], [])
})

test('after a crash what runs have left goes, but not that of a run that goes on', async (t) => {
  const { open, keeper, workloadsOf, dataOf } = await testEnvironments(t)
  const [left, goesOn] = [newId('run'), newId('run')]
  await open(left)
  await open(goesOn)
  await keeper.sweep((run) => run === goesOn)
  assert.deepEqual([...workloadsOf(left), ...dataOf(left)], [])
  assert.deepEqual(workloadsOf(goesOn), [`${goesOn}/postgresql-main`])
  await keeper.closeLeft(goesOn)
  assert.deepEqual([...workloadsOf(goesOn), ...dataOf(goesOn)], [])
  await keeper.closeLeft(goesOn)
})
