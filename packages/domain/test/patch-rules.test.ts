import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  databaseTypes,
  type RuntimeType,
  runtimeTypes,
  type ServiceFields,
  type ServiceType,
  serviceTypes,
} from '@stackquay/catalog'
import { ProjectPatch } from '@stackquay/contract'
import { asksAboutData } from '../src/asks-about-data.ts'
import { mergeProject, type Offers, sameSpec } from '../src/merge-project.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'
import { offersOfAll } from './random-patch.ts'

// Titles name the rule of the specification (section 4.2, 7, 2.3, 2.4) that the test shows.

const empty = emptySpec('Shop')

interface World {
  readonly naming?: 'enables' | 'keeps'
  readonly data?: readonly string[]
  readonly offers?: Offers
}

function answer(spec: ProjectSpec, patch: object, { naming = 'keeps', data = [], offers = offersOfAll }: World = {}) {
  return mergeProject(spec, patch as ProjectPatch, {}, offers, naming, new Map(data.map((name) => [name, null])))
}

function merged(spec: ProjectSpec, patch: object, world: World = {}): ProjectSpec {
  const result = answer(spec, patch, world)
  assert.ok(result.ok, JSON.stringify(result))
  return result.spec
}

function removed(spec: ProjectSpec, patch: object, data: readonly string[]): readonly string[] {
  const result = answer(spec, patch, { data })
  assert.ok(result.ok, JSON.stringify(result))
  return result.removesData
}

function faults(spec: ProjectSpec, patch: object, world: World = {}): readonly string[] {
  const result = answer(spec, patch, world)
  assert.equal(result.ok, false, JSON.stringify(result))
  return result.ok ? [] : result.errors.map(({ pointer, code }) => `${pointer} ${code}`)
}

/** As the API reads a body. */
const isBody = (patch: object) => ProjectPatch.safeParse(patch).success

const [newest, older] = [0, 1].map(
  (index) => (kind: ServiceType | RuntimeType) => kind.releases[index]?.version ?? kind.releases[0]!.version,
) as [(kind: ServiceType | RuntimeType) => string, (kind: ServiceType | RuntimeType) => string]

const withService = (kind: ServiceType, more: object = {}) => merged(empty, { [kind.name]: { enabled: true, ...more } })
const service = (spec: ProjectSpec, kind: ServiceType) => spec.services[kind.name] as ServiceFields
const withRuntime = (kind: RuntimeType, more: object = {}) => merged(empty, { [kind.name]: { enabled: true, ...more } })

const keepers = serviceTypes.filter((kind) => kind.keepsData)
const ofData = serviceTypes.filter((kind) => kind.settings.ofData.length > 0)
const withExternal = serviceTypes.filter((kind) => kind.runsHere !== undefined)
const published = serviceTypes.filter((kind) => kind.alwaysPublished)

/** What a field of booleans is not. */
const other = (settings: object, field: string) => !(settings as Record<string, unknown>)[field]

test('the catalogue has what the rules below are about', () => {
  for (const some of [keepers, ofData, withExternal, published]) assert.notEqual(some.length, 0)
  assert.ok(serviceTypes.some((kind) => !kind.keepsData && !kind.alwaysPublished))
})

test('4.2.1 what a body leaves out stays as it is, for every runtime and service, on or off', () => {
  for (const kind of runtimeTypes) {
    const before = withRuntime(kind, { server: false, mode: 'production', port: 4321, debugPort: 9999 })
    for (const enabled of [true, false])
      assert.deepEqual(merged(before, { [kind.name]: { enabled } }).runtimes[kind.name], {
        ...before.runtimes[kind.name],
        enabled,
      })
    assert.deepEqual(merged(before, { [kind.name]: {} }), before)
  }
  for (const kind of serviceTypes) {
    const before = withService(kind, { exposePort: true })
    for (const enabled of [true, false])
      assert.deepEqual(service(merged(before, { [kind.name]: { enabled } }), kind), {
        ...service(before, kind),
        enabled,
      })
    assert.deepEqual(merged(before, { [kind.name]: {} }), before)
  }
})

test('4.2.1 a patch of one thing leaves every other runtime, service and database as it is', () => {
  const everything = merged(empty, {
    ...Object.fromEntries([...runtimeTypes, ...serviceTypes].map(({ name }) => [name, { enabled: true }])),
    databases: { main: { type: databaseTypes[0]!.name } },
    healthCheck: { path: '/up' },
  })
  for (const { name } of [...runtimeTypes, ...serviceTypes]) {
    const after = merged(everything, { [name]: { enabled: false } })
    const back = merged(after, { [name]: { enabled: true } })
    assert.ok(!sameSpec(after, everything))
    assert.deepEqual(back, everything, name)
  }
})

test('4.2.2 a service object with only exposePort: false unpublishes the port and leaves the service in place', () => {
  for (const kind of serviceTypes.filter((candidate) => !candidate.alwaysPublished)) {
    const before = withService(kind, { exposePort: true })
    const after = merged(before, { [kind.name]: { exposePort: false } })
    assert.deepEqual(service(after, kind), { ...service(before, kind), exposePort: false })
    assert.equal(service(after, kind).enabled, true)
  }
})

test('4.2.3 a service object with enabled: false removes the service and keeps its data', () => {
  for (const kind of serviceTypes) {
    const before = withService(kind)
    const after = merged(before, { [kind.name]: { enabled: false } })
    assert.deepEqual(service(after, kind), { ...service(before, kind), enabled: false })
    assert.deepEqual(removed(before, { [kind.name]: { enabled: false } }, [kind.name]), [])
  }
})

test('4.2.3 with removeData: true in addition the data is deleted, of this service alone', () => {
  const all = merged(empty, Object.fromEntries(serviceTypes.map(({ name }) => [name, { enabled: true }])))
  const everywhere = serviceTypes.map(({ name }) => name)
  for (const kind of keepers) {
    const patch = { [kind.name]: { enabled: false, removeData: true } }
    assert.deepEqual(removed(all, patch, everywhere), [kind.name])
    assert.deepEqual(
      removed(
        all,
        patch,
        everywhere.filter((name) => name !== kind.name),
      ),
      [],
      'there is none',
    )
    assert.equal(service(merged(all, patch), kind).enabled, false)
    assert.ok(!('removeData' in service(merged(all, patch), kind)), 'it is an act and no setting')
  }
})

test('4.2.3 removeData needs enabled: false in the same body', () => {
  for (const kind of keepers) {
    const before = withService(kind)
    for (const fields of [{ removeData: true }, { removeData: true, enabled: true }])
      assert.deepEqual(faults(before, { [kind.name]: fields }), [`/${kind.name}/removeData needs_disable`])
    const off = merged(before, { [kind.name]: { enabled: false } })
    assert.deepEqual(faults(off, { [kind.name]: { removeData: true } }), [`/${kind.name}/removeData needs_disable`])
  }
})

test('4.2.3 removeData: false deletes nothing and asks for nothing', () => {
  for (const kind of keepers) {
    const before = withService(kind)
    assert.deepEqual(removed(before, { [kind.name]: { enabled: false, removeData: false } }, [kind.name]), [])
    assert.deepEqual(merged(before, { [kind.name]: { removeData: false } }), before)
  }
})

test('4.2.3 a service that keeps no data has no removeData', () => {
  for (const kind of serviceTypes)
    assert.equal(isBody({ [kind.name]: { enabled: false, removeData: true } }), kind.keepsData, kind.name)
})

test('4.2.3 a service that was switched off keeps its settings and takes changes of them', () => {
  for (const kind of serviceTypes) {
    const off = merged(withService(kind, { exposePort: true, version: older(kind) }), {
      [kind.name]: { enabled: false },
    })
    assert.equal(service(merged(off, { [kind.name]: { enabled: true } }), kind).version, older(kind))
    if (kind.alwaysPublished) continue
    const changed = merged(off, { [kind.name]: { exposePort: false } })
    assert.deepEqual(service(changed, kind), { ...service(off, kind), exposePort: false })
    assert.equal(service(changed, kind).enabled, false)
  }
})

test('4.2.3 the version of kept data changes only to one that can read it, and says the way out', () => {
  let refused = 0
  for (const kind of keepers) {
    const lines = kind.releases.map(({ version }) => version)
    const offers: Offers = {
      ...offersOfAll,
      services: {
        [kind.name]: lines.map((version, index) => ({ version, available: true, default: index === 0, reason: null })),
      },
    }
    for (const from of lines)
      for (const to of lines.filter((line) => line !== from))
        for (const enabled of [true, false]) {
          const spec = merged(empty, { [kind.name]: { enabled, version: from } }, { offers })
          const patch = { [kind.name]: { version: to } }
          assert.ok(asksAboutData(spec, patch as ProjectPatch))
          assert.equal(service(merged(spec, patch, { offers }), kind).version, to, 'without data every version will do')
          if (kind.dataBlocker(from, to) === null) {
            assert.equal(service(merged(spec, patch, { offers, data: [kind.name] }), kind).version, to)
            continue
          }
          refused += 1
          const world = { offers, data: [kind.name] }
          assert.deepEqual(faults(spec, patch, world), [`/${kind.name}/version version_change_refused`])
          const result = answer(spec, patch, world)
          assert.match(result.ok ? '' : result.errors[0]!.detail, /stays as it is\. To begin anew, send .*removeData/)
          const gone = { enabled: false, removeData: true }
          const early = { [kind.name]: { ...gone, version: to } }
          assert.deepEqual(
            faults(spec, early, world),
            [`/${kind.name}/version version_change_refused`],
            'it is still there',
          )
          const without = merged(spec, { [kind.name]: gone }, world)
          assert.equal(
            service(merged(without, patch, { offers }), kind).version,
            to,
            'with its data went what was in the way',
          )
        }
  }
  assert.ok(refused > 0, 'some service refuses some version')
})

test('4.2.3 what counts is the version that wrote the data, not one that was only wished for meanwhile', () => {
  let led = 0
  for (const kind of keepers) {
    const lines = kind.releases.map(({ version }) => version)
    const offers: Offers = {
      ...offersOfAll,
      services: {
        [kind.name]: lines.map((version, index) => ({ version, available: true, default: index === 0, reason: null })),
      },
    }
    for (const from of lines)
      for (const between of lines)
        for (const to of lines) {
          if (between === from || between === to) continue
          const spec = merged(empty, { [kind.name]: { enabled: false, version: between } }, { offers })
          const patch = { [kind.name]: { version: to } } as ProjectPatch
          const result = mergeProject(spec, patch, {}, offers, 'keeps', new Map([[kind.name, from]]))
          const way = to === from || kind.dataBlocker(from, to) === null
          assert.equal(result.ok, way, `${kind.name}: ${from}, then ${between}, then ${to}`)
          if (!way && kind.dataBlocker(between, to) === null) led += 1
        }
  }
  assert.ok(led > 0, 'some way round would have led there')
})

test('4.2.3 data of another service is no reason to refuse', () => {
  for (const kind of keepers) {
    const before = withService(kind, { version: newest(kind) })
    const data = [...serviceTypes.map(({ name }) => name).filter((name) => name !== kind.name), `${kind.name}-main`]
    assert.equal(
      service(merged(before, { [kind.name]: { version: older(kind) } }, { data }), kind).version,
      older(kind),
    )
  }
})

test('4.2.4 and 2.4 storage: publicRead: true makes a new bucket public, without it a new bucket is private', () => {
  for (const kind of ofData)
    for (const field of kind.settings.ofData) {
      const usual = service(withService(kind), kind)[field]
      assert.deepEqual(usual, (kind.settings.defaults() as Record<string, unknown>)[field])
      const sent = other(service(withService(kind), kind), field)
      assert.equal(service(withService(kind, { [field]: sent }), kind)[field], sent)
    }
  const buckets = ofData.filter((kind) => kind.settings.ofData.includes('publicRead'))
  assert.equal(buckets.length, 1)
  assert.equal(service(withService(buckets[0]!), buckets[0]!).publicRead, false)
})

test('4.2.4 a bucket that is there stays as it was made; before there is one it can be decided again', () => {
  for (const kind of ofData)
    for (const field of kind.settings.ofData)
      for (const enabled of [true, false]) {
        const before = merged(withService(kind), { [kind.name]: { enabled } })
        const patch = { [kind.name]: { [field]: other(service(before, kind), field) } }
        assert.ok(asksAboutData(before, patch as ProjectPatch))
        assert.deepEqual(faults(before, patch, { data: [kind.name] }), [`/${kind.name}/${field} data_exists`])
        const same = { [kind.name]: { [field]: service(before, kind)[field] } }
        assert.deepEqual(merged(before, same, { data: [kind.name] }), before)
        assert.equal(service(merged(before, patch), kind)[field], other(service(before, kind), field))
      }
})

test('4.2.4 with its data a bucket loses what was said about it: the next one is private unless the body that makes it says otherwise', () => {
  for (const kind of ofData)
    for (const field of kind.settings.ofData) {
      const special = other(service(withService(kind), kind), field)
      const before = withService(kind, { [field]: special })
      const off = merged(before, { [kind.name]: { enabled: false } }, { data: [kind.name] })
      const on = { [kind.name]: { enabled: true } }
      assert.equal(service(merged(off, on, { data: [kind.name] }), kind)[field], special, 'the same bucket')
      const gone = merged(before, { [kind.name]: { enabled: false, removeData: true } }, { data: [kind.name] })
      assert.equal(service(merged(gone, on), kind)[field], !special, 'another bucket')
      const said = { [kind.name]: { enabled: true, [field]: special } }
      assert.equal(service(merged(gone, said), kind)[field], special)
    }
})

test('4.2.5 enabled: true with a version changes the version and keeps server, mode, package and port, for every runtime', () => {
  for (const kind of runtimeTypes) {
    const packaged = 'package' in kind.settings.stored.shape ? { package: 'apps/web' } : {}
    const before = withRuntime(kind, {
      version: newest(kind),
      server: false,
      mode: 'production',
      port: 4321,
      ...packaged,
    })
    const after = merged(before, { [kind.name]: { enabled: true, version: older(kind) } })
    assert.deepEqual(after.runtimes[kind.name], { ...before.runtimes[kind.name], version: older(kind) })
  }
})

test('4.2.5 omitting version keeps the version, for every runtime and service', () => {
  for (const kind of runtimeTypes) {
    const before = withRuntime(kind, { version: older(kind) })
    assert.equal(merged(before, { [kind.name]: { enabled: true } }).runtimes[kind.name]?.version, older(kind))
  }
  for (const kind of serviceTypes) {
    const before = withService(kind, { version: older(kind) })
    assert.equal(service(merged(before, { [kind.name]: { enabled: true } }), kind).version, older(kind))
  }
})

/** A dev server is an object inside a runtime with a preset and a port of its own. */
const devServers = runtimeTypes.flatMap((kind) =>
  Object.entries(kind.settings.defaults() as Record<string, unknown>)
    .filter(([, value]) => typeof value === 'object' && value !== null && 'preset' in value && 'port' in value)
    .map(([field]) => ({ kind, field })),
)

const portOf = (server: unknown) => (server as { port?: number } | undefined)?.port

test('4.2.5 and 2.3 devServer: what is left out of it stays as it is, and so does the server beside it', () => {
  assert.ok(devServers.some(({ field }) => field === 'devServer'))
  for (const { kind, field } of devServers) {
    const before = withRuntime(kind, { port: 4000, [field]: { enabled: true, port: 4444, script: 'page' } })
    const old = before.runtimes[kind.name]?.[field] as Record<string, unknown>
    const now = (sent: object) => merged(before, { [kind.name]: { [field]: sent } }).runtimes[kind.name]
    assert.deepEqual(now({ enabled: false }), { ...before.runtimes[kind.name], [field]: { ...old, enabled: false } })
    assert.deepEqual(now({ port: 4445 })?.[field], { ...old, port: 4445 })
    assert.deepEqual(now({ script: 'other' })?.[field], { ...old, script: 'other' })
    assert.deepEqual(merged(before, { [kind.name]: { server: false } }).runtimes[kind.name]?.[field], old)
    assert.deepEqual(merged(before, { [kind.name]: { version: older(kind) } }).runtimes[kind.name]?.[field], old)
  }
})

test('4.2.6 a new preset drops the stored port unless it is sent in the same request, for every runtime', () => {
  let changed = 0
  for (const kind of runtimeTypes) {
    const [first, second] = kind.presets
    const before = withRuntime(kind, { preset: first!.name, port: 4321 })
    assert.equal(merged(before, { [kind.name]: { preset: first!.name } }).runtimes[kind.name]?.port, 4321)
    if (second === undefined) continue
    changed += 1
    const patch = { preset: second.name }
    assert.equal(merged(before, { [kind.name]: patch }).runtimes[kind.name]?.port, second.port)
    assert.equal(merged(before, { [kind.name]: { ...patch, port: 5000 } }).runtimes[kind.name]?.port, 5000)
    assert.equal(merged(before, { [kind.name]: { ...patch, port: 4321 } }).runtimes[kind.name]?.port, 4321)
  }
  assert.ok(changed > 1)
})

test('4.2.6 a new preset of a dev server drops the port of the dev server and not that of the server', () => {
  for (const { kind, field } of devServers) {
    const [one, two] = kind.presets.filter(({ port }) => port !== 4444)
    const before = withRuntime(kind, { port: 4000, [field]: { enabled: true, preset: one!.name, port: 4444 } })
    const after = merged(before, { [kind.name]: { [field]: { preset: two!.name } } }).runtimes[kind.name]
    assert.deepEqual([portOf(after?.[field]), after?.port], [two!.port, 4000])
    const beside = merged(before, { [kind.name]: { preset: kind.presets.at(-1)!.name } }).runtimes[kind.name]
    assert.equal(portOf(beside?.[field]), 4444)
  }
})

test('4.2.6 and 2.3 application: a new preset drops it unless it is sent, of python alone', () => {
  const holders = runtimeTypes.filter((kind) => kind.presetDrops.includes('application'))
  assert.deepEqual(
    holders.map(({ name }) => name),
    ['python'],
  )
  const [kind] = holders
  const before = withRuntime(kind!, { preset: 'flask', application: 'shop:app' })
  const now = (fields: object) => merged(before, { python: fields }).runtimes.python?.application
  assert.equal(now({ preset: 'django' }), null)
  assert.equal(now({ preset: 'django', application: 'web:app' }), 'web:app')
  assert.equal(now({ preset: 'flask' }), 'shop:app')
  assert.equal(now({ version: older(kind!) }), 'shop:app')
})

test('4.2.7, 2.3 hostPort and debugHostPort: accepted on input and ignored, at every depth', () => {
  for (const kind of runtimeTypes) {
    const before = withRuntime(kind)
    const nested = Object.fromEntries(
      devServers.filter((one) => one.kind === kind).map(({ field }) => [field, { hostPort: 1 }]),
    )
    const patch = { [kind.name]: { hostPort: 1, debugHostPort: null, ...nested } }
    assert.ok(isBody(patch), kind.name)
    assert.deepEqual(merged(before, patch), before)
    assert.deepEqual(merged(empty, { [kind.name]: { enabled: true, hostPort: 1 } }), before)
  }
  for (const kind of serviceTypes) {
    const before = withService(kind)
    for (const hostPort of [1, null]) {
      assert.ok(isBody({ [kind.name]: { hostPort } }), kind.name)
      assert.deepEqual(merged(before, { [kind.name]: { hostPort } }), before)
    }
  }
  const main = { type: databaseTypes[0]!.name }
  const before = merged(empty, { databases: { main } })
  assert.ok(isBody({ databases: { main: { hostPort: 1 } } }))
  assert.deepEqual(merged(before, { databases: { main: { hostPort: 1 } } }), before)
})

test('4.2.8 and 2.4 database type: postgres and postgresql are equivalent, for a new database and for one that is there', () => {
  const specs = ['postgres', 'postgresql'].map((type) => merged(empty, { databases: { main: { type } } }))
  assert.deepEqual(specs[0], specs[1])
  assert.equal(specs[0]!.databases.main?.type, 'postgresql')
  for (const spec of specs)
    for (const type of ['postgres', 'postgresql'])
      assert.deepEqual(merged(spec, { databases: { main: { type } } }), spec)
})

test('7 exposePort: false is refused with always_published for the services that always publish, on or off', () => {
  assert.ok(
    published.some((kind) => kind.inboxPort !== undefined),
    'the mail catcher is one of them',
  )
  for (const kind of published) {
    const pointer = [`/${kind.name}/exposePort always_published`]
    assert.deepEqual(faults(empty, { [kind.name]: { enabled: true, exposePort: false } }), pointer)
    assert.deepEqual(faults(withService(kind), { [kind.name]: { exposePort: false } }), pointer)
    const off = merged(withService(kind), { [kind.name]: { enabled: false } })
    assert.deepEqual(faults(off, { [kind.name]: { exposePort: false } }), pointer)
    assert.equal(service(withService(kind), kind).exposePort, true, 'nobody needs to say so')
    assert.deepEqual(merged(withService(kind), { [kind.name]: { exposePort: true } }), withService(kind))
    const result = answer(empty, { [kind.name]: { exposePort: false } })
    assert.match(result.ok ? '' : result.errors[0]!.detail, /always publishes its port\. Leave exposePort out\./)
  }
})

test('7 the services that may be unpublished are not refused', () => {
  for (const kind of serviceTypes.filter((candidate) => !candidate.alwaysPublished))
    assert.equal(service(withService(kind, { exposePort: false }), kind).exposePort, false)
})

test('2.3 enabled: turns a runtime on and off and keeps everything else', () => {
  for (const kind of runtimeTypes) {
    const on = withRuntime(kind)
    assert.equal(on.runtimes[kind.name]?.enabled, true)
    const off = merged(on, { [kind.name]: { enabled: false } })
    assert.deepEqual(off.runtimes[kind.name], { ...on.runtimes[kind.name], enabled: false })
    assert.deepEqual(merged(off, { [kind.name]: { enabled: true } }), on)
  }
})

test('2.3 version: one that is offered; another is refused and the offered ones are named', () => {
  for (const kind of runtimeTypes) {
    assert.deepEqual(faults(empty, { [kind.name]: { enabled: true, version: '0.0' } }), [
      `/${kind.name}/version version_not_offered`,
    ])
    assert.equal(withRuntime(kind, { version: older(kind) }).runtimes[kind.name]?.version, older(kind))
  }
})

test('2.3 server: a server that is switched off keeps its settings', () => {
  for (const kind of runtimeTypes) {
    const before = withRuntime(kind, { port: 4321, mode: 'production' })
    const after = merged(before, { [kind.name]: { server: false } })
    assert.deepEqual(after.runtimes[kind.name], { ...before.runtimes[kind.name], server: false })
    assert.deepEqual(merged(after, { [kind.name]: { server: true } }), before)
  }
})

test('2.3 port, mode, preset, package: each is changed alone', () => {
  for (const kind of runtimeTypes) {
    const before = withRuntime(kind)
    const fields: Record<string, unknown> = { port: 4321, mode: 'production', debugPort: 9999, debug: true }
    if ('package' in kind.settings.stored.shape) fields.package = 'apps/web'
    for (const [field, value] of Object.entries(fields)) {
      const after = merged(before, { [kind.name]: { [field]: value } })
      assert.deepEqual(after.runtimes[kind.name], { ...before.runtimes[kind.name], [field]: value }, field)
    }
    assert.deepEqual(
      faults(before, { [kind.name]: { preset: 'no such preset' } }).includes(`/${kind.name}/preset invalid`),
      true,
    )
  }
})

test('2.4 enabled, version, exposePort: defaults when a service is first named, and each is changed alone', () => {
  for (const kind of serviceTypes) {
    const before = withService(kind)
    assert.deepEqual(service(before, kind), { ...kind.settings.defaults(), enabled: true, version: newest(kind) })
    const version = merged(before, { [kind.name]: { version: older(kind) } })
    assert.deepEqual(service(version, kind), { ...service(before, kind), version: older(kind) })
    if (kind.alwaysPublished) continue
    assert.equal(service(before, kind).exposePort, false)
    const exposed = merged(before, { [kind.name]: { exposePort: true } })
    assert.deepEqual(service(exposed, kind), { ...service(before, kind), exposePort: true })
  }
})

test('2.4 a service that is only named is enabled by a body that creates a project, and not by a PATCH', () => {
  for (const kind of serviceTypes) {
    assert.equal(service(merged(empty, { [kind.name]: {} }, { naming: 'enables' }), kind).enabled, true)
    assert.equal(service(merged(empty, { [kind.name]: {} }), kind).enabled, false)
    for (const naming of ['enables', 'keeps'] as const)
      assert.deepEqual(merged(empty, { [kind.name]: { enabled: false } }, { naming }), empty, 'it is off already')
  }
})

test('2.4 version: one that is not offered, or not on this machine, is refused with what to do; off, it may be noted', () => {
  for (const kind of serviceTypes.filter(({ toolchain }) => toolchain !== null)) {
    assert.deepEqual(faults(empty, { [kind.name]: { enabled: true, version: '0.0.1' } }), [
      `/${kind.name}/version version_not_offered`,
    ])
    const none: Offers = { ...offersOfAll, services: {} }
    const missing = [`/${kind.name}/version unavailable_here`]
    assert.deepEqual(faults(empty, { [kind.name]: { enabled: true } }, { offers: none }), missing)
    const result = answer(empty, { [kind.name]: { enabled: true } }, { offers: none })
    assert.ok(!result.ok && result.errors[0]!.detail.includes(kind.install.debian), 'says what to install')
    const lines = [{ version: newest(kind), available: false, default: true, reason: 'It is not installed.' }]
    const absent: Offers = { ...offersOfAll, services: { [kind.name]: lines } }
    assert.deepEqual(faults(empty, { [kind.name]: { enabled: true } }, { offers: absent }), missing)
    assert.equal(service(merged(empty, { [kind.name]: {} }, { offers: absent }), kind).version, newest(kind))
  }
})

const address = { host: 'cache.example.org' }

test('2.2 a service elsewhere: needs no program here, and what is left out of the address stays', () => {
  for (const kind of withExternal) {
    const nothing: Offers = { ...offersOfAll, services: {} }
    const made = merged(empty, { [kind.name]: { enabled: true, external: address } }, { offers: nothing })
    const stored = service(made, kind).external as Record<string, unknown>
    assert.equal(stored.host, address.host)
    const password = { secret: 'sec_1', version: 1 }
    const sealed = merged(made, { [kind.name]: { external: { password } } })
    assert.deepEqual(service(sealed, kind).external, { ...stored, password })
    const moved = merged(sealed, { [kind.name]: { external: { port: 7000 } } })
    assert.deepEqual(service(moved, kind).external, { ...stored, password, port: 7000 })
    const open = merged(moved, { [kind.name]: { external: { password: null } } })
    assert.deepEqual(service(open, kind).external, { ...stored, port: 7000 })
  }
})

test('2.2 external: null takes the server of the project again and forgets the other; an address needs a host', () => {
  for (const kind of withExternal) {
    const away = withService(kind, { external: { ...address, password: { secret: 'sec_1', version: 1 } } })
    const back = merged(away, { [kind.name]: { external: null } })
    assert.deepEqual(service(back, kind), { ...service(away, kind), external: null })
    assert.deepEqual(faults(withService(kind), { [kind.name]: { external: { port: 1 } } }), [
      `/${kind.name}/external/host invalid`,
    ])
    assert.deepEqual(
      service(merged(away, { [kind.name]: { exposePort: true } }), kind).external,
      service(away, kind).external,
    )
  }
})

test('4.2.7 whether a secret is stored is read-only too: accepted and ignored inside the object that holds it', () => {
  for (const kind of withExternal)
    for (const has of [true, false]) {
      const before = withService(kind, { external: address })
      const patch = { [kind.name]: { external: { hasPassword: has } } }
      assert.ok(isBody(patch))
      assert.deepEqual(merged(before, patch), before)
    }
})

test('a field that there is not is refused, in every runtime and service and inside their objects', () => {
  for (const { name } of [...runtimeTypes, ...serviceTypes])
    assert.equal(isBody({ [name]: { verson: '1' } }), false, name)
  for (const { kind, field } of devServers) assert.equal(isBody({ [kind.name]: { [field]: { prot: 1 } } }), false)
  for (const kind of withExternal) assert.equal(isBody({ [kind.name]: { external: { hots: 'a' } } }), false)
  assert.equal(isBody({ databases: { main: { tpye: 'x' } } }), false)
  assert.equal(isBody({ nodee: {} }), false)
})

test('whether there is data is asked only when the answer matters', () => {
  const asks = (spec: ProjectSpec, patch: object) => asksAboutData(spec, patch as ProjectPatch)
  for (const kind of serviceTypes) {
    const before = withService(kind)
    assert.equal(asks(empty, { [kind.name]: { enabled: true, version: newest(kind) } }), false, 'never configured')
    assert.equal(asks(before, { [kind.name]: { enabled: false, exposePort: true } }), false)
    assert.equal(asks(before, { [kind.name]: { version: newest(kind) } }), false, 'the same again')
    assert.equal(asks(before, { name: 'Other' }), false)
  }
})

test('everything that is wrong with services is answered at once, with what is wrong elsewhere', () => {
  const [bare, kept] = [published[0]!, keepers.find((kind) => !kind.alwaysPublished)!]
  assert.deepEqual(
    [
      ...faults(withService(kept), {
        [bare.name]: { exposePort: false },
        [kept.name]: { removeData: true, version: '0.0.1' },
        healthCheck: {},
      }),
    ].sort(),
    [
      '/healthCheck/path required',
      `/${bare.name}/exposePort always_published`,
      `/${kept.name}/removeData needs_disable`,
      `/${kept.name}/version version_not_offered`,
    ].sort(),
  )
})
