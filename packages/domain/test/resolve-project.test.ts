import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  runtimeTypeOf,
  runtimeTypes,
  type ServiceFields,
  type ServiceType,
  type Settings,
  serviceTypes,
} from '@stackquay/catalog'
import { hasSecret, type Value } from '@stackquay/engine-api'
import { databaseSecret, databaseWorkload, serviceSecret } from '../src/resolve-connections.ts'
import type { ResolveFacts } from '../src/resolve-facts.ts'
import { resolveProject, variableSecret } from '../src/resolve-project.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'

const secret = { secret: 'sec_1', version: 1 }

const facts: ResolveFacts = {
  project: {
    id: 'prj_1',
    slug: 'shop',
    url: 'http://shop.localhost:8780',
    path: '/srv/shop',
    toolsPath: '/tools/prj_1',
  },
  source: { 'package.json': '{"scripts":{"dev":"vite","start":"node server.js"}}', 'app.py': 'app = Flask(__name__)' },
  toolchain: (name, line) => ({
    version: `${line}.1`,
    program: `/opt/${name}/bin/${name}`,
    directory: `/opt/${name}/bin`,
  }),
  helpers: () => ({ npm: { version: '12.0.0', program: '/opt/node/bin/npm', directory: '/opt/node/bin' } }),
  lease: (workload, port) => 20_000 + `${workload}/${port}`.length,
  secret: () => secret,
  ourProgram: (name) => ({ node: '/opt/node/bin/node', file: `/ours/${name}.js` }),
  publishAddress: '127.0.0.1',
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

const spec = (more: Partial<ProjectSpec>): ProjectSpec => ({ ...emptySpec('Shop'), ...more })
const postgresql = { type: 'postgresql', version: '18', exposePort: false }
const plain = (env: Readonly<Record<string, Value>> | undefined, name: string) => env?.[name]

test('a project without anything resolves to nothing, and nothing stands in the way', () => {
  assert.deepEqual(resolveProject(spec({}), facts), {
    workloads: [],
    kinds: {},
    versions: {},
    front: null,
    extraHosts: [],
    pages: [],
    missingLeases: [],
    missingSecrets: [],
    missingArchives: [],
    injected: [],
    errors: [],
    unresolved: [],
  })
})

test('a runtime that is off, or whose server is off, is no workload', () => {
  const off = spec({ runtimes: { static: settings('static', { enabled: false }) } })
  const idle = spec({ runtimes: { static: settings('static', { server: false }) } })
  for (const one of [off, idle]) assert.deepEqual(resolveProject(one, facts).workloads, [])
})

test('the URL belongs to the runtime that comes first in the order of runtimes, however they are written', () => {
  const order = [...runtimeTypes].sort((a, b) => a.urlOrder - b.urlOrder).map((kind) => kind.name)
  assert.ok(order.indexOf('php') < order.indexOf('static'))
  const runtimes = { static: settings('static'), php: settings('php') }
  const resolved = resolveProject(spec({ runtimes }), facts)
  assert.deepEqual(resolved.front, { workload: 'php', port: 'http' })
  assert.deepEqual(resolved.kinds, { php: 'runtime', static: 'runtime' })
  const without = resolveProject(spec({ runtimes: { ...runtimes, php: settings('php', { server: false }) } }), facts)
  assert.deepEqual(without.front, { workload: 'static', port: 'http' })
})

test('a dev server gets a host of its own and never the project’s', () => {
  const devServer = { enabled: true, preset: 'vite', script: 'dev', port: 5173 }
  const both = resolveProject(spec({ runtimes: { node: settings('node', { devServer }) } }), facts)
  assert.deepEqual(both.front, { workload: 'node', port: 'http' })
  assert.deepEqual(both.extraHosts, [{ prefix: '', suffix: '-dev', workload: 'node-dev', port: 'http' }])
  const alone = resolveProject(spec({ runtimes: { node: settings('node', { devServer, server: false }) } }), facts)
  assert.equal(alone.front, null)
  assert.deepEqual(
    alone.workloads.map(({ ref }) => ref),
    [{ project: 'prj_1', workload: 'node-dev' }],
  )
})

test('the first database is DATABASE_URL, the second one has its name before that', () => {
  const resolved = resolveProject(
    spec({ runtimes: { static: settings('static') }, databases: { main: postgresql, reports: postgresql } }),
    facts,
  )
  const web = resolved.workloads.find(({ ref }) => ref.workload === 'static')
  assert.ok('DATABASE_URL' in web!.env && 'REPORTS_DATABASE_URL' in web!.env)
  assert.equal(plain(web?.env, 'DATABASE_NAME'), 'main')
  assert.equal(plain(web?.env, 'REPORTS_DATABASE_NAME'), 'reports')
  assert.equal(plain(web?.env, 'PGDATABASE'), 'main')
  assert.ok(!('MAIN_DATABASE_URL' in web!.env))
  assert.ok(resolved.injected.includes('DATABASE_URL') && resolved.injected.includes('REPORTS_DATABASE_URL'))
})

test('a password is in no workload, only the reference to it', () => {
  const resolved = resolveProject(
    spec({ runtimes: { static: settings('static') }, databases: { main: postgresql } }),
    facts,
  )
  const web = resolved.workloads.find(({ ref }) => ref.workload === 'static')
  for (const name of ['DATABASE_URL', 'DATABASE_PASSWORD', 'PGPASSWORD']) assert.ok(hasSecret(web!.env[name]!), name)
})

test('runtimes wait for databases', () => {
  const resolved = resolveProject(
    spec({ runtimes: { static: settings('static') }, databases: { main: postgresql, reports: postgresql } }),
    facts,
  )
  const waits = Object.fromEntries(resolved.workloads.map(({ ref, dependsOn }) => [ref.workload, dependsOn]))
  assert.deepEqual(waits, {
    'postgresql-main': [],
    'postgresql-reports': [],
    static: ['postgresql-main', 'postgresql-reports'],
  })
})

test('a person’s variable stands before an injected one, and secrets are passed by reference', () => {
  const resolved = resolveProject(
    spec({
      runtimes: { static: settings('static') },
      databases: { main: postgresql },
      env: { DATABASE_URL: { secret: false, value: 'mine' }, TOKEN: { secret: true, ref: secret } },
    }),
    facts,
  )
  const web = resolved.workloads.find(({ ref }) => ref.workload === 'static')
  assert.equal(plain(web?.env, 'DATABASE_URL'), 'mine')
  assert.deepEqual(plain(web?.env, 'TOKEN'), [secret])
})

test('a variable may have any valid name', () => {
  const env = Object.fromEntries([['__proto__', { secret: false, value: 'x' } as const]])
  const [web] = resolveProject(spec({ runtimes: { static: settings('static') }, env }), facts).workloads
  assert.ok(Object.entries(web!.env).some(([name, value]) => name === '__proto__' && value === 'x'))
})

test('ports without a lease and secrets that are not made yet are listed, each once', () => {
  const wanted = spec({ runtimes: { static: settings('static') }, databases: { main: postgresql } })
  const resolved = resolveProject(wanted, { ...facts, lease: () => null, secret: () => null })
  assert.deepEqual(resolved.missingLeases, [
    { workload: 'postgresql-main', port: 'postgresql' },
    { workload: 'static', port: 'http' },
  ])
  assert.deepEqual(resolved.missingSecrets, [{ name: 'database/main/password', length: 32 }])
  assert.deepEqual(resolved.errors, [])
  assert.equal(resolved.workloads.length, 2)
  const complete = resolveProject(wanted, facts)
  assert.deepEqual([complete.missingLeases, complete.missingSecrets], [[], []])
})

test('what a debugger listens on is leased too', () => {
  const node = settings('node', { debug: true })
  const resolved = resolveProject(spec({ runtimes: { node } }), { ...facts, lease: () => null })
  assert.deepEqual(resolved.missingLeases.map(({ port }) => port).sort(), ['debug', 'http'])
})

test('everything that stands in the way is answered at once, and the rest is resolved', () => {
  const resolved = resolveProject(
    spec({
      runtimes: {
        node: settings('node'),
        static: settings('static', { debug: true }),
        php: settings('php'),
      },
      databases: { main: postgresql, old: { type: 'dbase', version: '3', exposePort: false } },
    }),
    { ...facts, toolchain: (name, line) => (name === 'php' ? facts.toolchain(name, line) : null) },
  )
  assert.deepEqual(
    resolved.errors.map(({ pointer, code }) => `${pointer} ${code}`),
    [
      '/databases/main/version unavailable_here',
      '/databases/old/type unknown_type',
      '/node/version unavailable_here',
      '/static/debug cannot_run',
    ],
  )
  assert.deepEqual(Object.keys(resolved.kinds), ['php'])
  assert.match(
    resolved.errors[0]!.detail,
    /PostgreSQL 18 is not available on this machine\. Debian and Ubuntu: apt-get/,
  )
  assert.match(resolved.errors[3]!.detail, /no debugger\. Set "debug" to false\./)
})

test('a database whose program is missing still tells its variables, so that plans show what will be there', () => {
  const resolved = resolveProject(spec({ databases: { main: postgresql } }), { ...facts, toolchain: () => null })
  assert.ok(resolved.injected.includes('DATABASE_URL'))
  assert.deepEqual(resolved.workloads, [])
})

test('resolving twice gives the same fingerprints; a changed variable, port or secret gives others', () => {
  const wanted = spec({
    runtimes: { static: settings('static') },
    databases: { main: postgresql },
    env: { A: { secret: false, value: '1' } },
  })
  const prints = (one: ProjectSpec, more: Partial<ResolveFacts> = {}) =>
    resolveProject(one, { ...facts, ...more }).workloads.map(({ fingerprint }) => fingerprint)
  const before = prints(wanted)
  assert.deepEqual(prints(structuredClone(wanted)), before)
  const changed = prints({ ...wanted, env: { A: { secret: false, value: '2' } } })
  assert.equal(changed[0], before[0])
  assert.notEqual(changed[1], before[1])
  assert.notEqual(prints(wanted, { lease: () => 1234 })[0], before[0])
  assert.notEqual(prints(wanted, { secret: () => ({ ...secret, version: 2 }) })[1], before[1])
})

test('a health check of the project is what the front is asked', () => {
  const healthCheck = { path: '/up', timeoutSeconds: 9 }
  const [web] = resolveProject(spec({ runtimes: { static: settings('static') }, healthCheck }), facts).workloads
  assert.deepEqual(web?.health, { kind: 'http', port: 'http', path: '/up', status: [200, 399], timeoutSeconds: 9 })
})

test('names of workloads and secrets are pinned: leases, kept data and sealed texts are found by them', () => {
  assert.equal(databaseWorkload('postgresql', 'main'), 'postgresql-main')
  assert.equal(databaseSecret('main', 'password'), 'database/main/password')
  assert.equal(serviceSecret('cache', 'external.password'), 'service/cache/external.password')
  assert.equal(variableSecret('TOKEN'), 'env/TOKEN')
})

const serviceFields = (kind: ServiceType, more: object = {}) =>
  ({ ...kind.settings.defaults(), version: kind.releases[0]!.version, ...more }) as unknown as ServiceFields
const allServices = Object.fromEntries(serviceTypes.map((kind) => [kind.name, serviceFields(kind)]))
const web = { static: settings('static') }

test('each service that is on is one workload of its name, with leases and secrets of all that it declares', () => {
  for (const kind of serviceTypes) {
    const wanted = spec({ services: { [kind.name]: serviceFields(kind) } })
    const resolved = resolveProject(wanted, { ...facts, lease: () => null, secret: () => null })
    assert.deepEqual(resolved.errors, [])
    assert.deepEqual(resolved.kinds, { [kind.name]: 'service' })
    assert.deepEqual(
      resolved.missingLeases.map(({ workload, port }) => `${workload} ${port}`).sort(),
      kind.ports.map(({ name }) => `${kind.name} ${name}`).sort(),
    )
    assert.deepEqual(
      resolved.missingSecrets.map(({ name, length }) => `${name} ${length}`).sort(),
      kind.secrets.map(({ name, length }) => `service/${kind.name}/${name} ${length}`).sort(),
    )
    assert.deepEqual(resolved.workloads[0]?.dependsOn, [])
    const off = spec({ services: { [kind.name]: serviceFields(kind, { enabled: false }) } })
    const nothing = resolveProject(off, { ...facts, lease: () => null, secret: () => null })
    assert.deepEqual(
      [nothing.workloads, nothing.missingLeases, nothing.missingSecrets, nothing.injected],
      [[], [], [], []],
    )
  }
})

test('runtimes receive the variables that a service says it injects, and wait for it', () => {
  for (const kind of serviceTypes) {
    const services = { [kind.name]: serviceFields(kind) }
    const resolved = resolveProject(spec({ runtimes: web, services }), facts)
    const runtime = resolved.workloads.find(({ ref }) => ref.workload === 'static')!
    for (const name of kind.injects) assert.ok(name in runtime.env, `${kind.name} ${name}`)
    assert.deepEqual([...resolved.injected].sort(), [...kind.injects].sort(), kind.name)
    assert.deepEqual(runtime.dependsOn, [kind.name])
  }
})

test('a service listens on loopback until its port is published, and only published ports leave it', () => {
  for (const kind of serviceTypes) {
    const binds = (exposePort: boolean) => {
      const services = { [kind.name]: serviceFields(kind, { exposePort }) }
      const { workloads } = resolveProject(spec({ services }), { ...facts, publishAddress: '0.0.0.0' })
      return Object.fromEntries(workloads[0]!.ports.map(({ name, bind }) => [name, bind]))
    }
    for (const port of kind.ports) {
      assert.equal(binds(false)[port.name] ?? '127.0.0.1', '127.0.0.1', `${kind.name} ${port.name}`)
      assert.equal(
        binds(true)[port.name] ?? '127.0.0.1',
        port.published ? '0.0.0.0' : '127.0.0.1',
        `${kind.name} ${port.name}`,
      )
    }
    assert.ok(
      kind.ports.filter(({ published }) => published).every(({ name }) => name in binds(true)),
      kind.name,
    )
  }
})

test('a service elsewhere runs nothing here and is told to the runtimes, with no lease and no secret of ours', () => {
  const kinds = serviceTypes.filter((kind) => kind.runsHere !== undefined)
  assert.notEqual(kinds.length, 0)
  for (const kind of kinds) {
    const external = kind.settings.stored.shape.external!.parse({ host: 'cache.example.org' })
    const services = { [kind.name]: serviceFields(kind, { external, version: '0' }) }
    const bare = { ...facts, lease: () => null, secret: () => null, toolchain: () => null }
    const resolved = resolveProject(spec({ runtimes: web, services }), bare)
    assert.deepEqual(Object.keys(resolved.kinds), ['static'])
    assert.deepEqual(resolved.errors, [])
    assert.deepEqual(resolved.missingLeases, [{ workload: 'static', port: 'http' }])
    assert.deepEqual(resolved.missingSecrets, [])
    const [runtime] = resolved.workloads
    assert.deepEqual(runtime!.dependsOn, [])
    assert.ok(Object.values(runtime!.env).includes('cache.example.org'))
  }
})

test('a service whose program is missing says what to install and still tells its variables', () => {
  for (const kind of serviceTypes.filter(({ toolchain }) => toolchain !== null)) {
    const services = { [kind.name]: serviceFields(kind) }
    const resolved = resolveProject(spec({ services }), { ...facts, toolchain: () => null })
    assert.deepEqual(
      resolved.errors.map(({ pointer, code }) => `${pointer} ${code}`),
      [`/${kind.name}/version unavailable_here`],
    )
    assert.ok(resolved.errors[0]!.detail.includes(kind.install.debian))
    assert.deepEqual([...resolved.injected].sort(), [...kind.injects].sort())
  }
})

test('the secrets of a service stand in its environment and jobs alone: what other users of the machine see names none', () => {
  for (const kind of serviceTypes) {
    const services = { [kind.name]: serviceFields(kind) }
    const { workloads } = resolveProject(spec({ services }), facts)
    assert.equal(workloads.length, 1)
    const { run, health, env, setup } = workloads[0]!
    assert.ok(!JSON.stringify([run, health]).includes(secret.secret), kind.name)
    assert.equal(JSON.stringify([env, setup]).includes(secret.secret), kind.secrets.length > 0, kind.name)
  }
})

test('a variable with receivers reaches these runtimes and no other, and only they change with it', () => {
  const runtimes = { node: settings('node'), php: settings('php'), static: settings('static') }
  const env = (value: string): ProjectSpec['env'] => ({
    ONE: { secret: false, value, runtimes: ['node'] },
    TWO: { secret: false, value: 'same', runtimes: ['php', 'static'] },
    ALL: { secret: false, value: 'same' },
  })
  const at = (value: string) =>
    Object.fromEntries(
      resolveProject(
        spec({ runtimes, services: allServices, databases: { main: postgresql }, env: env(value) }),
        facts,
      ).workloads.map((one) => [one.ref.workload, one]),
    )
  const [before, after] = [at('1'), at('2')]
  const holders = (name: string) => Object.keys(before).filter((workload) => name in before[workload]!.env)
  assert.deepEqual(holders('ONE'), ['node'])
  assert.deepEqual(holders('TWO'), ['php', 'static'])
  assert.deepEqual(holders('ALL').sort(), ['node', 'php', 'static'])
  const changed = Object.keys(before).filter((name) => before[name]!.fingerprint !== after[name]!.fingerprint)
  assert.deepEqual(changed, ['node'])
})

test('publishing the port of one service changes that service and nothing else', () => {
  const prints = (services: ProjectSpec['services']) =>
    Object.fromEntries(
      resolveProject(spec({ runtimes: web, services, databases: { main: postgresql } }), {
        ...facts,
        publishAddress: '0.0.0.0',
        containers: null,
      }).workloads.map((one) => [one.ref.workload, one.fingerprint]),
    )
  const before = prints(allServices)
  for (const kind of serviceTypes.filter((one) => !one.alwaysPublished)) {
    const after = prints({ ...allServices, [kind.name]: serviceFields(kind, { exposePort: true }) })
    const changed = Object.keys(after).filter((name) => after[name] !== before[name])
    assert.deepEqual(changed, [kind.name])
  }
})
