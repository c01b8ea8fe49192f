import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  databaseTypes,
  runtimeTypeOf,
  runtimeTypes,
  type ServiceFields,
  type Settings,
  serviceTypes,
} from '@stackquay/catalog'
import type { ContainerFacts } from '../src/containers.ts'
import type { NamedEnvironment } from '../src/named-environment.ts'
import { resolveCommands } from '../src/resolve-commands.ts'
import type { ResolveFacts } from '../src/resolve-facts.ts'
import { resolveProject } from '../src/resolve-project.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'

const facts: ResolveFacts = {
  project: {
    id: 'prj_1',
    slug: 'shop',
    url: 'http://shop.localhost:8780',
    path: '/srv/shop',
    toolsPath: '/tools/prj_1',
  },
  source: { 'package.json': '{"scripts":{"build":"vite build","test":"vitest"}}', 'go.mod': 'module shop' },
  toolchain: (name, line) => ({
    version: `${line}.1`,
    program: `/opt/${name}/bin/${name}`,
    directory: `/opt/${name}/bin`,
  }),
  helpers: () => ({ npm: { version: '12.0.0', program: '/opt/node/bin/npm', directory: '/opt/node/bin' } }),
  lease: (workload, port) => 20_000 + `${workload}/${port}`.length,
  secret: (name) => ({ secret: `sec_${name}`, version: 1 }),
  ourProgram: (name) => ({ node: '/opt/node/bin/node', file: `/ours/${name}.js` }),
  publishAddress: '0.0.0.0',
  containers: null,
}

function settings(name: string, more: Readonly<Record<string, unknown>> = {}): Settings {
  const kind = runtimeTypeOf(name)!
  return {
    ...kind.settings.defaults(),
    version: kind.releases[0]!.version,
    port: kind.presets[0]!.port,
    ...more,
  } as Settings
}

function service(name: string, more: Readonly<Record<string, unknown>> = {}): ServiceFields {
  const kind = serviceTypes.find((candidate) => candidate.name === name)!
  return { ...kind.settings.defaults(), version: kind.releases[0]!.version, enabled: true, ...more } as ServiceFields
}

const spec = (more: Partial<ProjectSpec>): ProjectSpec => ({ ...emptySpec('Shop'), ...more })
const postgresql = { type: 'postgresql', version: '18', exposePort: true }
const developmentPort = facts.lease('postgresql-main', 'postgresql')!

/** A test environment: ports from 31,000, secrets of its own. */
const environment: ResolveFacts = {
  ...facts,
  project: { ...facts.project, id: 'run_1' },
  lease: (workload, port) => 31_000 + `${workload}/${port}`.length,
  secret: (name) => ({ secret: `own_${name}`, version: 1 }),
  testEnvironment: { leaseOfProject: facts.lease },
}
const environmentPort = String(environment.lease('postgresql-main', 'postgresql'))

const envOf = (environments: readonly NamedEnvironment[], name = environments[0]?.name) =>
  environments.find((environment) => environment.name === name)!.env

test('a project without a runtime has one place to run commands, with the system’s PATH and its variables', () => {
  const env = { A: { secret: false, value: '1' }, B: { secret: false, value: '2', runtimes: ['node'] } } as const
  const { environments, actions, suites } = resolveCommands(spec({ env, databases: { main: postgresql } }), facts)
  assert.equal(environments.length, 1)
  const { name, cwd, reason, setup } = environments[0]!
  assert.deepEqual({ name, cwd, reason, setup }, { name: 'project', cwd: '/srv/shop', reason: null, setup: [] })
  const own = envOf(environments)
  assert.match(String(own.PATH), /(^|:)\/usr\/bin(:|$)/)
  assert.deepEqual([own.A, own.B, own.DATABASE_PORT], ['1', undefined, String(developmentPort)])
  assert.deepEqual([actions, suites], [[], []])
})

test('each enabled runtime is a place, in the order of the catalogue, and ids of actions begin with its name', () => {
  const runtimes = { static: settings('static'), go: settings('go'), node: settings('node') }
  const { environments, actions } = resolveCommands(spec({ runtimes }), facts)
  const order = runtimeTypes.map(({ name }) => name).filter((name) => name in runtimes)
  assert.deepEqual(
    environments.map(({ name }) => name),
    order,
  )
  const ids = actions.map(({ id }) => id)
  for (const id of ['node.install', 'node.build', 'node.test', 'go.vet']) assert.ok(ids.includes(id), id)
  for (const { id, runtime, name } of actions) assert.equal(id, `${runtime}.${name}`)
})

test('a runtime that is off has no commands, one whose server is off has all', () => {
  assert.deepEqual(
    resolveCommands(spec({ runtimes: { node: settings('node', { enabled: false }) } }), facts).actions,
    [],
  )
  const off = spec({ runtimes: { node: settings('node', { server: false }) } })
  assert.deepEqual(
    resolveCommands(off, facts).actions.map(({ id }) => id),
    ['node.install', 'node.build', 'node.test'],
  )
})

test('settings that cannot run are no blocker: the commands are there to mend them', () => {
  const broken = spec({ runtimes: { node: settings('node', { script: 'lost' }), python: settings('python') } })
  assert.notEqual(resolveProject(broken, facts).errors.length, 0)
  const { environments, actions } = resolveCommands(broken, facts)
  assert.deepEqual(
    environments.map(({ reason }) => reason),
    [null, null],
  )
  assert.ok(actions.some(({ id, reason }) => id === 'node.build' && reason === null))
})

test('without its toolchain a runtime tells what it would offer and what to install', () => {
  const { environments, actions } = resolveCommands(spec({ runtimes: { go: settings('go') } }), {
    ...facts,
    toolchain: () => null,
  })
  assert.match(environments[0]!.reason!, /Go 1\.27 is not available on this machine.*apt-get install -y golang-go/)
  assert.ok(actions.length > 0)
  for (const { reason, argv } of actions) {
    assert.equal(reason, environments[0]!.reason)
    assert.ok(argv[0].startsWith('/'))
  }
})

test('an action that needs the dependencies says why they cannot be installed', () => {
  const lacking = { ...facts, source: { 'manage.py': '', 'requirements.txt': 'django' }, helpers: () => ({}) }
  const runtimes = { python: settings('python', { preset: 'django', packageManager: 'uv' }) }
  const { environments, actions } = resolveCommands(spec({ runtimes }), lacking)
  assert.equal(environments[0]!.reason, null)
  assert.match(actions.find(({ name }) => name === 'migrate')!.reason!, /uv is not installed on this machine/)
})

test('commands get the variables of the server: injected ones, then the person’s, secrets by reference', () => {
  const env = {
    DATABASE_NAME: { secret: false, value: 'mine' },
    TOKEN: { secret: true, ref: { secret: 'sec_9', version: 3 } },
  } as const
  const of = spec({ runtimes: { node: settings('node') }, databases: { main: postgresql }, env })
  const own = envOf(resolveCommands(of, facts).environments, 'node')
  assert.deepEqual([own.DATABASE_NAME, own.TOKEN], ['mine', [{ secret: 'sec_9', version: 3 }]])
  assert.equal('PORT' in own, false)
})

test('in a test environment no variable leads to the project’s own data', () => {
  const url = `postgres://main:secret@127.0.0.1:${developmentPort}/main`
  const env = {
    DATABASE_URL: { secret: false, value: url },
    DATABASE_PASSWORD: { secret: true, ref: { secret: 'sec_9', version: 3 } },
    REPORTING_DSN: { secret: false, value: url },
    OTHER: { secret: false, value: `${developmentPort}0 and 1.${developmentPort}` },
  } as const
  const of = spec({ runtimes: { node: settings('node') }, databases: { main: postgresql }, env })
  const written = {
    ...environment,
    source: {
      ...facts.source,
      '.env': `# mine\nDB_PORT=${developmentPort}\nexport DB_URL="${url}" # here\nAPP_NAME=Shop\nLONG=${'x'.repeat(5000)}${developmentPort}\n`,
      '.env.local': `DB_PORT='${developmentPort}'\r\n`,
    },
  }
  const own = envOf(resolveCommands(of, written).environments, 'node')
  const plain = JSON.stringify({ ...own, OTHER: '' })
  assert.equal(plain.includes(String(developmentPort)), false)
  assert.equal(plain.includes('sec_database'), false)
  assert.deepEqual(own.DATABASE_PASSWORD, [{ secret: 'own_database/main/password', version: 1 }])
  assert.equal(own.REPORTING_DSN, `postgres://main:secret@127.0.0.1:${environmentPort}/main`)
  assert.equal(own.DB_URL, own.REPORTING_DSN)
  assert.deepEqual([own.DB_PORT, own.DATABASE_PORT], [environmentPort, environmentPort])
  assert.equal(own.OTHER, env.OTHER.value)
  assert.equal('APP_NAME' in own, false)
})

test('a test environment has workloads of its own id, on loopback, and keeps the folders of the project', () => {
  const of = spec({ runtimes: { node: settings('node') }, databases: { main: postgresql } })
  const resolved = resolveProject({ ...of, runtimes: {} }, environment)
  assert.deepEqual(
    resolved.workloads.map(({ ref, ports }) => ({ ref, bind: ports.map(({ bind }) => bind) })),
    [{ ref: { project: 'run_1', workload: 'postgresql-main' }, bind: ['127.0.0.1'] }],
  )
  const [place] = resolveCommands(of, environment).environments
  const [usual] = resolveCommands(of, facts).environments
  assert.deepEqual([place!.cwd, place!.setup, place!.env.PATH], [usual!.cwd, usual!.setup, usual!.env.PATH])
})

test('in a test environment a service elsewhere is replaced by one here', () => {
  const external = { host: 'cache.example', port: 6379, username: null, password: null, tls: false }
  const of = spec({ runtimes: { node: settings('node') }, services: { redis: service('redis', { external }) } })
  assert.match(JSON.stringify(envOf(resolveCommands(of, facts).environments)), /cache\.example/)
  assert.doesNotMatch(JSON.stringify(envOf(resolveCommands(of, environment).environments)), /cache\.example/)
  assert.deepEqual(
    resolveProject({ ...of, runtimes: {} }, environment).workloads.map(({ ref }) => ref),
    [{ project: 'run_1', workload: 'redis' }],
  )
})

test('in a test environment a service that test runs do not have leaves no variable, not even one that was set by hand', () => {
  for (const kind of serviceTypes.filter(({ forTests }) => forTests === 'none')) {
    const [injected] = kind.injects
    const port = facts.lease(kind.name, kind.ports[0]!.name)
    const env = {
      [injected!]: { secret: false, value: `http://127.0.0.1:${port}` },
      BY_HAND: { secret: false, value: `http://127.0.0.1:${port}` },
    } as const
    const of = spec({ runtimes: { node: settings('node') }, services: { [kind.name]: service(kind.name) }, env })
    const own = envOf(resolveCommands(of, environment).environments)
    for (const name of kind.injects) assert.equal(name in own, false, `${kind.name}: ${name}`)
    assert.equal(own.BY_HAND, 'http://127.0.0.1:1')
    assert.deepEqual(resolveProject({ ...of, runtimes: {} }, environment).workloads, [])
  }
})

test('a test environment that has no ports and secrets yet says which it needs', () => {
  const of = spec({ databases: { main: postgresql } })
  const { missingLeases, missingSecrets } = resolveProject(of, {
    ...environment,
    lease: () => null,
    secret: () => null,
  })
  assert.deepEqual(missingLeases, [{ workload: 'postgresql-main', port: 'postgresql' }])
  assert.deepEqual(missingSecrets, [{ name: 'database/main/password', length: 32 }])
})

const everyService = Object.fromEntries(serviceTypes.map(({ name }) => [name, service(name)]))
const everyDatabase = Object.fromEntries(
  databaseTypes.map(({ name, releases }, at) => [
    `of${at}`,
    { type: name, version: releases[0]!.version, exposePort: false },
  ]),
)
const containers: ContainerFacts = {
  user: '1234:1234',
  image: (reference) => reference,
  ours: (name, base) => ({ folder: `/images/${name}`, tag: `${name}:of-${base.replace(':', '-')}` }),
  pinned: () => null,
  programs: ['/home/programs'],
}

test('every database and service that runs here is a place, none of them the one where nobody names one', () => {
  const of = spec({ services: everyService, databases: everyDatabase })
  for (const here of [facts, { ...facts, containers }]) {
    const { environments, dataEnvironments } = resolveCommands(of, here)
    const resolved = resolveProject(of, here)
    assert.deepEqual(resolved.errors, [])
    assert.deepEqual(
      dataEnvironments.map(({ name }) => name).sort(),
      resolved.workloads.map(({ ref }) => ref.workload).sort(),
    )
    assert.deepEqual(
      environments.map(({ name }) => name),
      ['project'],
    )
    for (const { name, needsUp, reason, setup, container } of dataEnvironments) {
      assert.deepEqual([needsUp, reason, setup], [true, null, []], name)
      // In the container of the workload, and never with its data.
      const run = resolved.workloads.find(({ ref }) => ref.workload === name)!.run
      assert.deepEqual(
        [container?.image, container?.user, container?.network, container?.limits],
        [run.container?.image, run.container?.user, run.container?.network, run.container?.limits],
        name,
      )
      assert.deepEqual(container?.data ?? {}, {}, name)
    }
  }
})

test('beside a database its client programs find it, with the credentials of its application alone', () => {
  const env = {
    OTHER: { secret: false, value: 'mine' },
    TOKEN: { secret: true, ref: { secret: 'sec_9', version: 3 } },
  } as const
  const databases = { main: postgresql, second: { type: 'postgresql', version: '17', exposePort: false } }
  const of = spec({ databases, services: { redis: service('redis') }, env })
  const { dataEnvironments } = resolveCommands(of, facts)
  const second = dataEnvironments.find(({ name }) => name === 'postgresql-second')!
  assert.deepEqual([second.label, second.cwd], ['PostgreSQL second', '/srv/shop'])
  const { PATH, ...variables } = second.env
  assert.match(String(PATH), /^\/opt\/postgresql\/bin:.*\/usr\/bin/)
  assert.deepEqual(Object.keys(variables).sort(), [
    ...['DATABASE_HOST', 'DATABASE_NAME', 'DATABASE_PASSWORD', 'DATABASE_PORT', 'DATABASE_URL', 'DATABASE_USER'],
    ...['PGDATABASE', 'PGHOST', 'PGPASSWORD', 'PGPORT', 'PGUSER'],
  ])
  const port = String(facts.lease('postgresql-second', 'postgresql'))
  const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = variables
  assert.deepEqual([PGHOST, PGPORT, PGUSER, PGDATABASE], ['127.0.0.1', port, 'second', 'second'])
  assert.deepEqual(PGPASSWORD, [{ secret: 'sec_database/second/password', version: 1 }])
  const redis = envOf(dataEnvironments, 'redis')
  assert.deepEqual(redis.REDISCLI_AUTH, [{ secret: 'sec_service/redis/password', version: 1 }])
  assert.equal('REDISCLI_AUTH' in envOf(resolveCommands(of, facts).environments), false)

  const inside = resolveCommands(of, { ...facts, containers }).dataEnvironments[1]!
  const { env: own, cwd, limits } = inside
  assert.deepEqual(
    [own.PATH, own.PGHOST, own.PGPORT, cwd, limits],
    [undefined, 'postgresql-second', '5432', '/', undefined],
  )
})

test('limits of a workload hold for the programs beside it', () => {
  const limits = { cpus: null, memoryBytes: 512, pids: null, workloads: { redis: { memoryBytes: 64 } } }
  const of = spec({ services: { redis: service('redis') }, limits })
  const wanted = { cpus: null, memoryBytes: 64, pids: null }
  assert.deepEqual(resolveCommands(of, facts).dataEnvironments[0]!.limits, wanted)
  const inside = resolveCommands(of, { ...facts, containers }).dataEnvironments[0]!
  assert.deepEqual([inside.limits, inside.container?.limits], [undefined, wanted])
})

test('a service elsewhere is no place, and one whose program is missing says what to install', () => {
  const external = { host: 'cache.example', port: 6379, username: null, password: null, tls: false }
  const away = spec({ services: { redis: service('redis', { external }) } })
  assert.deepEqual(resolveCommands(away, facts).dataEnvironments, [])
  const lacking = { ...facts, toolchain: () => null }
  const [place] = resolveCommands(spec({ databases: { main: postgresql } }), lacking).dataEnvironments
  assert.match(place!.reason!, /PostgreSQL 18 is not available on this machine.*apt-get install/)
})
