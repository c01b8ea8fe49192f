import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddonDefinition, type ServiceType, serviceTypes } from '@stackquay/catalog'
import type { ProjectPatch } from '@stackquay/contract'
import { asksAboutData } from '../src/asks-about-data.ts'
import { mergeProject, type Offers } from '../src/merge-project.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'
import { partOfChange, pointerOfChange, withVersionsOf } from '../src/version-changes.ts'
import { offersOfAll } from './random-patch.ts'

const offered = (versions: readonly string[]) =>
  versions.map((version, index) => ({ version, available: true, default: index === 0, reason: null }))

const offers: Offers = {
  ...offersOfAll,
  services: Object.fromEntries(
    serviceTypes.map(({ name, releases }) => [name, offered(releases.map(({ version }) => version))]),
  ),
}

/** With two lines of which the newer opens what the older wrote. */
const upgradable = serviceTypes.flatMap((kind) => {
  const [newer, older] = kind.releases.map(({ version }) => version)
  return newer !== undefined && older !== undefined && kind.dataBlocker(older, newer) === null
    ? [{ kind, older, newer }]
    : []
})
const keepers = upgradable.filter(({ kind }) => kind.keepsData)

function change(
  spec: ProjectSpec,
  patch: object,
  { data = {}, among = offers }: { data?: Readonly<Record<string, string | null>>; among?: Offers } = {},
) {
  const answer = mergeProject(spec, patch as ProjectPatch, {}, among, 'keeps', new Map(Object.entries(data)))
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer
}

const having = (kind: ServiceType, version: string, more: object = {}) =>
  change(emptySpec('Shop'), { [kind.name]: { enabled: true, version, ...more } }).spec

test('data that a newer line of a service is to open is that of the older one until then', () => {
  assert.ok(keepers.length > 2)
  for (const { kind, older, newer } of keepers) {
    const spec = having(kind, older)
    for (const writtenBy of [null, older]) {
      const { versions, spec: next } = change(
        spec,
        { [kind.name]: { version: newer } },
        { data: { [kind.name]: writtenBy } },
      )
      assert.deepEqual(versions, [{ service: kind.name, from: older, to: newer }])
      assert.deepEqual(withVersionsOf(next, versions, 'from'), spec)
      assert.deepEqual(withVersionsOf(spec, versions, 'to'), next)
      assert.equal(partOfChange(versions[0]!), `service:${kind.name}`)
      assert.equal(pointerOfChange(versions[0]!, next), `/${kind.name}/version`)
    }
  }
})

test('nothing is to be done for what was never made, keeps nothing, stays as it is, or is off', () => {
  for (const { kind, older, newer } of upgradable) {
    const spec = having(kind, older)
    const of = (patch: object, data: Readonly<Record<string, string | null>>, from = spec) =>
      change(from, { [kind.name]: patch }, { data }).versions
    assert.deepEqual(of({ version: newer }, {}), [])
    assert.deepEqual(of({ version: older }, { [kind.name]: null }), [])
    assert.deepEqual(of({ version: `${older}.7` }, { [kind.name]: older }), [], 'the same release line')
    assert.deepEqual(of({ version: newer, enabled: false }, { [kind.name]: older }), [])
    if (!kind.keepsData) assert.deepEqual(of({ version: newer }, { [kind.name]: older }), [])
  }
})

test('a service that is enabled again has the version that was wished for meanwhile only after a backup', () => {
  for (const { kind, older, newer } of keepers) {
    const data = { [kind.name]: older }
    const off = change(having(kind, older), { [kind.name]: { enabled: false, version: newer } }, { data }).spec
    const patch = { [kind.name]: { enabled: true } }
    assert.ok(asksAboutData(off, patch as ProjectPatch))
    assert.deepEqual(change(off, patch, { data }).versions, [{ service: kind.name, from: older, to: newer }])
    assert.deepEqual(change(off, patch).versions, [])
  }
})

test('what has its backup and was not started yet needs no second one, and can go back', () => {
  for (const { kind, older, newer } of keepers) {
    const data = { [kind.name]: older }
    const waits = having(kind, newer)
    const of = (patch: object) => change(waits, { [kind.name]: patch }, { data }).versions
    assert.deepEqual(of({ removeData: false }), [])
    assert.deepEqual(of({ version: newer }), [])
    assert.deepEqual(of({ version: older }), [])
  }
})

test('a service that ran elsewhere and is to run here again opens the data that it left', () => {
  const elsewhere = keepers.filter(({ kind }) => kind.runsHere !== undefined)
  assert.ok(elsewhere.length > 0)
  for (const { kind, older, newer } of elsewhere) {
    const data = { [kind.name]: older }
    const external = { external: { host: 'cache.example.org' } }
    const away = change(having(kind, older), { [kind.name]: { ...external, version: newer } }, { data })
    assert.deepEqual(away.versions, [])
    const back = { [kind.name]: { external: null } } as ProjectPatch
    assert.ok(asksAboutData(away.spec, back))
    assert.ok(!asksAboutData(away.spec, { [kind.name]: external } as ProjectPatch))
    assert.deepEqual(change(away.spec, back, { data }).versions, [{ service: kind.name, from: older, to: newer }])
  }
})

test('an addon is described as it was for as long as its data is that of the older version', () => {
  const addon = (versions: readonly string[]): AddonDefinition => ({
    name: 'broker',
    title: 'Broker',
    description: 'Carries messages.',
    versions: versions.map((version) => ({ version, image: `broker:${version}` })),
    ports: [{ name: 'broker', port: 4222 }],
    volumes: [{ path: '/data' }],
  })
  const offering = (versions: readonly string[]): Offers => ({
    ...offers,
    services: { ...offers.services, broker: offered(versions) },
    addons: { broker: addon(versions) },
  })
  const [before, after] = [
    ['2.1', '2.0'],
    ['3.0', '2.2'],
  ]
  const spec = change(
    emptySpec('Shop'),
    { addons: { broker: { enabled: true, version: '2.1' } } },
    { among: offering(before) },
  ).spec
  const patch = { addons: { broker: { version: '3.0' } } }
  const { versions, spec: next } = change(spec, patch, { data: { broker: '2.1' }, among: offering(after) })
  assert.deepEqual(versions, [
    { service: 'broker', from: '2.1', to: '3.0', addon: { from: addon(before), to: addon(after) } },
  ])
  assert.deepEqual(withVersionsOf(next, versions, 'from'), spec)
  assert.deepEqual(withVersionsOf(spec, versions, 'to'), next)
  assert.equal(pointerOfChange(versions[0]!, next), '/addons/broker/version')
})
