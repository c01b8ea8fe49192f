import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseTypes, runtimeTypeOf, runtimeTypes, type ServiceType, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import { type Earlier, isEarlier } from '../src/merge-databases.ts'
import { type EnvPatch, mergeProject, type Offers, sameSpec } from '../src/merge-project.ts'
import { emptySpec, type ProjectSpec, primaryDatabase } from '../src/spec.ts'
import { withVersionsOf } from '../src/version-changes.ts'
import {
  allTypes,
  generator,
  offersOfAll,
  type Random,
  randomPatch,
  randomReceivers,
  type Taste,
} from './random-patch.ts'

const line = (version: string, more: object = {}) => ({
  version,
  available: true,
  default: false,
  reason: null,
  ...more,
})

const offers: Offers = {
  runtimes: {
    node: [
      line('28', { available: false, reason: 'Node.js 28 is not installed on this machine.' }),
      line('26', { default: true }),
      line('24'),
    ],
    python: [line('3.14', { default: true }), line('3.11')],
    php: [line('8.5', { default: true })],
    ruby: [line('4.0', { available: false, reason: 'Ruby 4.0 is not installed on this machine.' })],
    go: [line('1.27', { default: true })],
    static: [line('1', { default: true })],
  },
  services: {},
  databases: {
    postgresql: [
      line('18', { default: true }),
      line('17'),
      line('16', { available: false, reason: 'PostgreSQL 16 is not installed on this machine.' }),
    ],
    mariadb: [line('10.11', { default: true })],
    mysql: [line('8.4', { default: true })],
  },
}

const empty = emptySpec('Shop')

function merged(
  spec: ProjectSpec,
  patch: ProjectPatch,
  { env = {}, naming = 'keeps' }: { env?: EnvPatch; naming?: 'enables' | 'keeps' } = {},
): ProjectSpec {
  const answer = mergeProject(spec, patch, env, offers, naming)
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer.spec
}

function faults(spec: ProjectSpec, patch: ProjectPatch, env: EnvPatch = {}): readonly string[] {
  const answer = mergeProject(spec, patch, env, offers, 'keeps')
  assert.equal(answer.ok, false, JSON.stringify(answer))
  return answer.ok ? [] : answer.errors.map(({ pointer, code }) => `${pointer} ${code}`)
}

const vite = merged(empty, {
  node: { enabled: true, preset: 'vite', port: 4000, mode: 'production', package: 'web', server: false },
})
const flask = merged(empty, { python: { enabled: true, preset: 'flask', application: 'shop:app', port: 7000 } })
const withDatabase = merged(empty, { databases: { main: { type: 'postgres', exposePort: true } } })

test('a runtime that is named for the first time gets the defaults, the default version and the preset’s port', () => {
  const { node } = merged(empty, { node: { enabled: true, preset: 'vite' } }).runtimes
  assert.deepEqual(node, {
    ...runtimeTypeOf('node')!.settings.defaults(),
    enabled: true,
    version: '26',
    preset: 'vite',
    port: 5173,
  })
})

test('a body that creates a project enables what it names; a PATCH only configures it', () => {
  assert.equal(merged(empty, { node: {} }, { naming: 'enables' }).runtimes.node?.enabled, true)
  assert.equal(merged(empty, { node: { enabled: false } }, { naming: 'enables' }).runtimes.node?.enabled, false)
  assert.equal(merged(empty, { node: { preset: 'next' } }).runtimes.node?.enabled, false)
})

test('enabled with a version changes the version and keeps server, mode, package and port', () => {
  const before = vite.runtimes.node
  const after = merged(vite, { node: { enabled: true, version: '24' } }).runtimes.node
  assert.deepEqual(after, { ...before, version: '24' })
})

test('an omitted version is kept, even when it is not offered any more', () => {
  const old = { ...vite, runtimes: { node: { ...vite.runtimes.node!, version: '18' } } }
  assert.equal(merged(old, { node: { port: 9 } }).runtimes.node?.version, '18')
  assert.equal(merged(old, { node: { version: '18' } }).runtimes.node?.version, '18')
  assert.equal(merged(old, { node: { enabled: false } }).runtimes.node?.version, '18')
})

test('a full version stands for its release line', () => {
  assert.equal(merged(empty, { node: { enabled: true, version: '26.10.0' } }).runtimes.node?.version, '26')
  assert.equal(merged(empty, { python: { enabled: true, version: '3.11.2' } }).runtimes.python?.version, '3.11')
})

test('a version that is not offered is refused and says which are', () => {
  const answer = mergeProject(vite, { node: { version: '19' } }, {}, offers, 'keeps')
  assert.deepEqual(answer, {
    ok: false,
    errors: [
      {
        pointer: '/node/version',
        code: 'version_not_offered',
        detail: 'Node.js 19 is not offered; offered are 28, 26, 24.',
      },
    ],
  })
})

test('a version that this machine does not have is refused when the runtime is to run, and may be set when it is not', () => {
  assert.deepEqual(faults(vite, { node: { version: '28' } }), ['/node/version unavailable_here'])
  assert.deepEqual(faults(empty, { ruby: { enabled: true } }), ['/ruby/version unavailable_here'])
  assert.equal(merged(empty, { ruby: { preset: 'rack' } }).runtimes.ruby?.version, '4.0')
  assert.equal(merged(vite, { node: { enabled: false, version: '28' } }).runtimes.node?.version, '28')
})

test('a new preset drops the stored port unless it is sent too', () => {
  assert.equal(merged(vite, { node: { preset: 'next' } }).runtimes.node?.port, 3000)
  assert.equal(merged(vite, { node: { preset: 'next', port: 4000 } }).runtimes.node?.port, 4000)
  assert.equal(merged(vite, { node: { preset: 'vite' } }).runtimes.node?.port, 4000)
})

test('a new preset drops Python’s application unless it is sent too', () => {
  const kept = flask.runtimes.python
  assert.equal(kept?.application, 'shop:app')
  const dropped = merged(flask, { python: { preset: 'django' } }).runtimes.python
  assert.deepEqual([dropped?.application, dropped?.port], [null, 8000])
  const sent = merged(flask, { python: { preset: 'asgi', application: 'web:app' } }).runtimes.python
  assert.equal(sent?.application, 'web:app')
  assert.equal(merged(flask, { python: { preset: 'flask' } }).runtimes.python?.application, 'shop:app')
})

test('a dev server keeps what is omitted, and a new preset drops its port', () => {
  const before = merged(vite, { node: { devServer: { enabled: true, port: 4444, script: 'page' } } })
  assert.deepEqual(before.runtimes.node?.devServer, { enabled: true, preset: 'vite', port: 4444, script: 'page' })
  assert.deepEqual(merged(before, { node: { devServer: { enabled: false } } }).runtimes.node?.devServer, {
    enabled: false,
    preset: 'vite',
    port: 4444,
    script: 'page',
  })
  const changed = merged(before, { node: { devServer: { preset: 'next' } } })
  assert.deepEqual(changed.runtimes.node?.devServer, { enabled: true, preset: 'next', port: 3000, script: 'page' })
  assert.equal(changed.runtimes.node?.port, before.runtimes.node?.port)
  const sent = merged(before, { node: { devServer: { preset: 'next', port: 4444 } } }).runtimes.node?.devServer
  assert.equal((sent as { port: number }).port, 4444)
})

test('an object of settings that is no server is merged key by key, whatever its keys are called', () => {
  const before = merged(empty, { php: { enabled: true, ini: { memory_limit: '1G' } } })
  const { php } = merged(before, { php: { ini: { preset: 'laravel', hostPort: '1' } } }).runtimes
  assert.deepEqual(php?.ini, { memory_limit: '1G', preset: 'laravel', hostPort: '1' })
})

test('host ports are accepted and ignored, at every level', () => {
  const patch = { node: { hostPort: 20001, debugHostPort: null, devServer: { hostPort: 20002 } } }
  assert.deepEqual(merged(vite, patch), vite)
})

test('settings that do not fit together are named by pointer', () => {
  assert.deepEqual(faults(vite, { node: { port: 0, devServer: { port: 70000 } } }), [
    '/node/port invalid',
    '/node/devServer/port invalid',
  ])
})

test('postgres and postgresql are the same database', () => {
  assert.deepEqual(withDatabase.databases, {
    main: { type: 'postgresql', version: '18', exposePort: true, primary: true },
  })
  for (const type of ['postgres', 'postgresql'])
    assert.deepEqual(merged(withDatabase, { databases: { main: { type } } }), withDatabase)
})

test('exposePort alone unpublishes the port and leaves the database in place', () => {
  assert.deepEqual(merged(withDatabase, { databases: { main: { exposePort: false } } }).databases, {
    main: { type: 'postgresql', version: '18', exposePort: false, primary: true },
  })
})

test('a change never drops a database; null for one that is not there says nothing', () => {
  assert.deepEqual(faults(withDatabase, { databases: { main: null } }), ['/databases/main needs_delete'])
  assert.deepEqual(merged(withDatabase, { databases: { other: null } }), withDatabase)
})

test('the type of a database cannot change, is needed for a new one and must be known', () => {
  const spec = { ...withDatabase, databases: { main: { type: 'mysql', version: '9', exposePort: false } } }
  assert.deepEqual(faults(spec, { databases: { main: { type: 'postgres' } } }), [
    '/databases/main/type type_change_refused',
  ])
  assert.deepEqual(faults(empty, { databases: { main: {} } }), ['/databases/main/type required'])
  assert.deepEqual(faults(empty, { databases: { main: { type: 'oracle' } } }), ['/databases/main/type unknown_type'])
})

const dataOfMain = new Map([['postgresql-main', null]])

function versioned(
  spec: ProjectSpec,
  version: string,
  {
    more = {},
    data = dataOfMain,
    earlier = () => null,
  }: { more?: object; data?: Map<string, null>; earlier?: Earlier } = {},
) {
  const result = mergeProject(spec, { databases: { main: { version, ...more } } }, {}, offers, 'keeps', data, earlier)
  return result.ok
    ? { versions: result.versions, version: result.spec.databases.main?.version }
    : result.errors.map(({ pointer, code, detail }) => ({ pointer, code, detail }))
}

test('a release line of a database with data keeps the line that wrote it', () => {
  for (const version of ['18', '18.1'])
    assert.deepEqual(versioned(withDatabase, version), { versions: [], version: '18' })
})

test('a database without data takes any version that is offered, also when a project is created', () => {
  assert.deepEqual(versioned(withDatabase, '17', { data: new Map() }), { versions: [], version: '17' })
  const template = mergeProject(empty, { databases: { main: { type: 'postgres' } } }, {}, offers, 'enables')
  assert.ok(template.ok)
  const made = mergeProject(template.spec, { databases: { main: { version: '17' } } }, {}, offers, 'enables')
  assert.ok(made.ok)
  assert.deepEqual([made.spec.databases.main?.version, made.versions], ['17', []])
})

test('data becomes that of a later version, and the specification that says so is still to be written', () => {
  const old = merged(empty, { databases: { main: { type: 'postgres', version: '17' } } })
  const change = { database: 'main', from: '17', to: '18', back: null }
  assert.deepEqual(versioned(old, '18'), { versions: [change], version: '18' })
  const next = { ...old, databases: { main: { ...old.databases.main!, version: '18' } } }
  assert.deepEqual(withVersionsOf(next, [change], 'from'), old)
  assert.deepEqual(withVersionsOf(old, [change], 'to'), next)
  assert.deepEqual(
    [versioned(old, '9'), versioned(old, '16')].flat().map((error) => 'code' in error && error.code),
    ['version_not_offered', 'unavailable_here'],
  )
})

test('an earlier version needs a backup from before an upgrade, and the word that what came since goes', () => {
  const back = { backup: 'bak_1', createdAt: '2026-01-02T03:04:05Z' }
  const asked: string[] = []
  const earlier: Earlier = (database, line) => {
    asked.push(`${database} ${line}`)
    return back
  }
  const faultsOf = (...answer: Parameters<typeof versioned>) =>
    [versioned(...answer)].flat().map((error) => ('code' in error ? `${error.pointer} ${error.code}` : 'accepted'))
  assert.deepEqual(faultsOf(withDatabase, '17'), ['/databases/main/version version_change_refused'])
  assert.deepEqual(faultsOf(withDatabase, '17', { earlier }), ['/databases/main/removeData confirm'])
  const more = { removeData: true }
  assert.deepEqual(versioned(withDatabase, '17', { earlier, more }), {
    versions: [{ database: 'main', from: '18', to: '17', back }],
    version: '17',
  })
  assert.deepEqual(asked, ['main 17', 'main 17'])
  for (const wrong of [
    () => faultsOf(withDatabase, '18', { earlier, more }),
    () => faultsOf(withDatabase, '17', { earlier, more, data: new Map() }),
    () =>
      faultsOf(merged(empty, { databases: { main: { type: 'postgres', version: '17' } } }), '18', { earlier, more }),
    () => faults(empty, { databases: { main: { type: 'postgres', removeData: true } } }),
  ])
    assert.deepEqual(wrong(), ['/databases/main/removeData no_earlier_version'])
})

test('versions are earlier and later by their numbers', () => {
  const pairs = [
    ['9.6', '10'],
    ['8.4', '10.11'],
    ['10.6', '10.11'],
    ['11', '11.4'],
  ] as const
  for (const [one, other] of pairs) {
    assert.deepEqual([isEarlier(one, other), isEarlier(other, one), isEarlier(one, one)], [true, false, false])
  }
})

test('a new database takes an offered version that this machine has', () => {
  const wants = (version: string) => ({ databases: { main: { type: 'postgres', version } } })
  assert.equal(merged(empty, wants('17')).databases.main?.version, '17')
  assert.deepEqual(faults(empty, wants('9')), ['/databases/main/version version_not_offered'])
  assert.deepEqual(faults(empty, wants('16')), ['/databases/main/version unavailable_here'])
})

test('a name that the database keeps for itself is refused for a new one', () => {
  assert.deepEqual(faults(empty, { databases: { template1: { type: 'postgres' } } }), [
    '/databases/template1 reserved_name',
  ])
})

test('a database may be called like a property that every object has', () => {
  const spec = merged(empty, { databases: { constructor: { type: 'postgres' } } as ProjectPatch['databases'] & object })
  assert.deepEqual(Object.keys(spec.databases), ['constructor'])
  assert.equal(Object.entries(spec.databases)[0]?.[1].version, '18')
})

test('variables are set, replaced and removed; the others stay', () => {
  const first = merged(empty, {}, { env: { A: { secret: false, value: '1' }, B: { secret: false, value: '2' } } })
  const ref = { secret: 'sec_1', version: 1 }
  const next = merged(first, {}, { env: { A: null, C: { secret: true, ref }, D: null } })
  assert.deepEqual(next.env, { B: { secret: false, value: '2' }, C: { secret: true, ref } })
})

test('a variable named __proto__ is a variable', () => {
  const env: EnvPatch = Object.fromEntries([['__proto__', { secret: false, value: 'x' } as const]])
  const spec = merged(empty, {}, { env })
  assert.deepEqual(Object.entries(spec.env), [['__proto__', { secret: false, value: 'x' }]])
  assert.deepEqual(Object.entries(merged(spec, { name: 'Other' }).env), Object.entries(spec.env))
})

test('a health check needs a path, keeps what is omitted and goes with null', () => {
  assert.deepEqual(faults(empty, { healthCheck: { timeoutSeconds: 5 } }), ['/healthCheck/path required'])
  const spec = merged(empty, { healthCheck: { path: '/up' } })
  assert.deepEqual(spec.healthCheck, { path: '/up', timeoutSeconds: 60 })
  assert.deepEqual(merged(spec, { healthCheck: { timeoutSeconds: 5 } }).healthCheck, { path: '/up', timeoutSeconds: 5 })
  assert.deepEqual(merged(spec, { healthCheck: {} }).healthCheck, spec.healthCheck)
  assert.equal(merged(spec, { healthCheck: null }).healthCheck, null)
})

test('limits keep what is omitted; null takes one away, null for all takes all', () => {
  const spec = merged(empty, { limits: { cpus: 2 } })
  assert.deepEqual(spec.limits, { cpus: 2, memoryBytes: null })
  const both = merged(spec, { limits: { memoryBytes: 1024 } })
  assert.deepEqual(both.limits, { cpus: 2, memoryBytes: 1024 })
  assert.deepEqual(merged(both, { limits: { cpus: null } }).limits, { cpus: null, memoryBytes: 1024 })
  assert.equal(merged(both, { limits: null }).limits, null)
})

test('everything that is wrong is answered at once', () => {
  const patch = {
    node: { version: '19', port: -1 },
    python: { preset: 'nothing' },
    databases: { main: null, other: {}, template0: { type: 'postgres' } },
    healthCheck: { timeoutSeconds: 1 },
  }
  assert.deepEqual([...faults({ ...vite, databases: withDatabase.databases }, patch)].sort(), [
    '/databases/main needs_delete',
    '/databases/other/type required',
    '/databases/template0 reserved_name',
    '/healthCheck/path required',
    '/node/port invalid',
    '/node/version version_not_offered',
    '/python/port invalid',
    '/python/preset invalid',
  ])
})

test('a merge leaves the specification that it was given as it was', () => {
  const text = JSON.stringify(vite)
  merged(
    vite,
    { node: { preset: 'next', devServer: { enabled: true } } },
    { env: { A: { secret: false, value: 'x' } } },
  )
  assert.equal(JSON.stringify(vite), text)
})

// Random specifications and patches. A failure names the seed that shows it.

const taste: Taste = {
  ...allTypes,
  limits: true,
  offers: offersOfAll,
  secret: (random) => ({ secret: `sec_${random.below(9)}`, version: 1 + random.below(3) }),
}

function randomChange(random: Random, before: ProjectSpec): { patch: ProjectPatch; env: EnvPatch } {
  const env: Record<string, EnvPatch[string]> = {}
  for (const name of ['A', 'B', 'C']) {
    if (!random.chance(0.3)) continue
    const receivers = randomReceivers(random)
    env[name] = random.pick([
      null,
      { secret: false, value: String(random.below(9)), ...receivers },
      { secret: true, ref: { secret: 'sec_1', version: random.below(3) }, ...receivers },
    ])
  }
  return { patch: randomPatch(random, before, taste), env }
}

function changed(before: ProjectSpec, patch: ProjectPatch, env: EnvPatch, naming: 'enables' | 'keeps' = 'keeps') {
  const answer = mergeProject(before, patch, env, offersOfAll, naming)
  assert.ok(answer.ok, JSON.stringify({ answer, patch, before }))
  return answer.spec
}

const seeds = Array.from({ length: 500 }, (_, seed) => seed)

function randomSpec(random: Random): ProjectSpec {
  let spec = empty
  for (let times = random.below(4); times > 0; times -= 1) {
    const { patch, env } = randomChange(random, spec)
    spec = changed(spec, patch, env, random.pick(['enables', 'keeps']))
  }
  return spec
}

test('what a patch does not name is unchanged, for any specification and patch', () => {
  for (const seed of seeds) {
    const random = generator(seed)
    const before = randomSpec(random)
    const { patch, env } = randomChange(random, before)
    const after = changed(before, patch, env)
    const where = `seed ${seed}: ${JSON.stringify({ before, patch, env })}`

    if (patch.name === undefined) assert.equal(after.name, before.name, where)
    if (patch.healthCheck === undefined) assert.deepEqual(after.healthCheck, before.healthCheck, where)
    if (patch.limits === undefined) assert.deepEqual(after.limits, before.limits, where)
    for (const [name, database] of Object.entries(before.databases)) {
      const sent = patch.databases?.[name]
      const exposePort = sent?.exposePort ?? database.exposePort
      assert.deepEqual(after.databases[name], { ...database, exposePort }, where)
    }
    for (const name of new Set([...Object.keys(before.env), ...Object.keys(after.env)]))
      if (!(name in env)) assert.deepEqual(after.env[name], before.env[name], where)
    for (const kind of runtimeTypes) {
      const [old, now] = [before.runtimes[kind.name], after.runtimes[kind.name]]
      const sent = patch[kind.name] as Record<string, unknown> | undefined
      if (sent === undefined) assert.deepEqual(now, old, where)
      if (sent === undefined || old === undefined) continue
      const isNewPreset = sent.preset !== undefined && sent.preset !== old.preset
      const dropped = isNewPreset ? ['port', ...kind.presetDrops] : []
      for (const [field, value] of Object.entries(old))
        if (!(field in sent) && !dropped.includes(field)) assert.deepEqual(now?.[field], value, `${where} ${field}`)
      for (const field of dropped) {
        if (field in sent) continue
        const preset: { port: number } = kind.presets.find((one) => one.name === sent.preset)!
        const fresh: unknown =
          field === 'port' ? preset.port : (kind.settings.defaults() as Record<string, unknown>)[field]
        assert.deepEqual(now?.[field], fresh, `${where} ${field}`)
      }
    }
    for (const kind of serviceTypes) {
      const [old, now] = [before.services[kind.name], after.services[kind.name]]
      const sent = patch[kind.name] as Record<string, unknown> | undefined
      if (sent === undefined) assert.deepEqual(now, old, where)
      if (sent === undefined || old === undefined) continue
      // Enabled while there is no data, it makes its data anew.
      const isAnew = sent.removeData === true || (old.enabled === false && sent.enabled === true)
      const reset = isAnew ? kind.settings.ofData : []
      for (const [field, value] of Object.entries(old))
        if (!(field in sent) && !reset.includes(field)) assert.deepEqual(now?.[field], value, `${where} ${field}`)
    }
  }
})

test('a whole answer of a service with a field changed changes that field and no other, for any specification', () => {
  for (const seed of seeds) {
    const random = generator(seed)
    const before = randomSpec(random)
    for (const kind of serviceTypes) {
      const old = before.services[kind.name]
      if (old === undefined) continue
      const after = changed(before, { [kind.name]: { ...shownService(kind, old), enabled: !old.enabled } }, {})
      const expected = { ...before, services: { ...before.services, [kind.name]: { ...old, enabled: !old.enabled } } }
      assert.deepEqual(after, expected, `seed ${seed} ${kind.name}`)
    }
  }
})

test('sending back what an answer shows changes nothing, for any specification', () => {
  for (const seed of seeds) {
    const spec = randomSpec(generator(seed))
    const shown = Object.fromEntries(
      Object.entries(spec.runtimes).map(([name, { devServer, ...settings }]) => [
        name,
        {
          ...settings,
          hostPort: 20_000,
          debugHostPort: null,
          ...(devServer === undefined ? {} : { devServer: { ...(devServer as object), hostPort: 20_001 } }),
        },
      ]),
    )
    const services = serviceTypes.flatMap((kind) => {
      const settings = spec.services[kind.name]
      return settings === undefined ? [] : [[kind.name, shownService(kind, settings)]]
    })
    const patch = {
      name: spec.name,
      ...shown,
      ...Object.fromEntries(services),
      databases: spec.databases,
      healthCheck: spec.healthCheck,
      limits: spec.limits,
    } as unknown as ProjectPatch
    assert.ok(sameSpec(changed(spec, patch, spec.env), spec), `seed ${seed}`)
  }
})

/** A service as an answer shows it: with its port, and instead of a secret whether there is one. */
function shownService(kind: ServiceType, settings: object): Record<string, unknown> {
  const shown = structuredClone(settings) as Record<string, unknown>
  for (const path of kind.settings.secretFields) {
    const last = path.at(-1)!
    const holder = path.slice(0, -1).reduce<unknown>((inner, key) => (inner as typeof shown | null)?.[key], shown)
    if (holder == null) continue
    const fields = holder as Record<string, unknown>
    fields[`has${last.charAt(0).toUpperCase()}${last.slice(1)}`] = fields[last] !== null
    delete fields[last]
  }
  return { ...shown, hostPort: 20_000 }
}

test('specifications are the same whatever the order of their keys', () => {
  const one = merged(merged(empty, { node: {} }), { python: {} })
  const other = merged(merged(empty, { python: {} }), { node: {} })
  assert.ok(sameSpec(one, other))
  assert.ok(!sameSpec(one, vite))
})

test('every kind of database answers its own name for each of its aliases', () => {
  for (const kind of databaseTypes) {
    for (const type of [kind.name, ...kind.aliases])
      assert.equal(merged(empty, { databases: { main: { type } } }).databases.main?.type, kind.name)
  }
})

test('the first database is the primary one and stays it, whatever comes later and in whatever order', () => {
  const second = merged(withDatabase, { databases: { another: { type: 'mysql' } } })
  const marks = (spec: ProjectSpec) =>
    Object.fromEntries(Object.entries(spec.databases).map(([name, { primary }]) => [name, primary]))
  assert.deepEqual(marks(second), { main: true, another: false })
  assert.deepEqual(marks(merged(second, { databases: { another: { exposePort: true } } })), marks(second))
  const answered = { databases: { another: { primary: true }, main: { primary: false } } } as unknown as ProjectPatch
  assert.deepEqual(merged(second, answered), second, 'what an answer shows of it is read-only')
})

test('of databases that were written before there was a mark the first one is the primary, also when another joins', () => {
  const old = { type: 'postgresql', version: '18', exposePort: false }
  const spec: ProjectSpec = { ...empty, databases: { main: old, other: old } }
  assert.equal(primaryDatabase(spec.databases), 'main')
  const { databases } = merged(spec, { databases: { third: { type: 'mysql' } } })
  assert.deepEqual(
    Object.entries(databases).map(([name, { primary }]) => [name, primary]),
    [
      ['main', true],
      ['other', false],
      ['third', false],
    ],
  )
})

test('when the primary database is gone no other takes its place, until a new one is made', () => {
  const rest = { other: { type: 'postgresql', version: '18', exposePort: false, primary: false } }
  assert.equal(primaryDatabase(rest), undefined)
  const { databases } = merged({ ...empty, databases: rest }, { databases: { again: { type: 'postgres' } } })
  assert.equal(primaryDatabase(databases), 'again')
})
