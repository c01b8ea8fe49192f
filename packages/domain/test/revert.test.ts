import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ProjectSpec, revertSpec } from '../src/index.ts'

const spec: ProjectSpec = {
  name: 'Shop',
  runtimes: {},
  services: { redis: { enabled: true, version: '7.2' } as never },
  databases: { main: { type: 'postgresql', version: '17', exposePort: false } },
  env: { A: { secret: false, value: '1' } },
  healthCheck: null,
  limits: null,
}
const pointers = (now: ProjectSpec, held: ProjectSpec) => {
  const reverted = revertSpec(now, held)
  return reverted.ok ? [] : reverted.errors.map(({ pointer, code }) => `${pointer} ${code}`)
}

test('settings that hold no data go back; the name stays as it is now', () => {
  const now: ProjectSpec = {
    ...spec,
    name: 'Store',
    env: { B: { secret: false, value: '2' } },
    limits: { cpus: 1, memoryBytes: null },
    databases: { main: { ...spec.databases.main!, exposePort: true } },
    services: { redis: { enabled: false, version: '7.2' } as never },
  }
  assert.deepEqual(revertSpec(now, spec), { ok: true, spec: { ...spec, name: 'Store' } })
})

test('nothing goes back where a database came, went or is of another version, or a service is', () => {
  const main = spec.databases.main!
  assert.deepEqual(pointers({ ...spec, databases: { main, other: main } }, spec), ['/databases/other holds_data'])
  assert.deepEqual(pointers({ ...spec, databases: {} }, spec), ['/databases/main holds_data'])
  assert.deepEqual(pointers({ ...spec, databases: { main: { ...main, version: '18' } } }, spec), [
    '/databases/main/version holds_data',
  ])
  assert.deepEqual(pointers({ ...spec, services: { redis: { enabled: true, version: '8' } as never } }, spec), [
    '/redis/version holds_data',
  ])
  const storage = { enabled: true, version: '1', publicRead: false } as never
  const open = { enabled: true, version: '1', publicRead: true } as never
  assert.deepEqual(pointers({ ...spec, services: { storage: open } }, { ...spec, services: { storage } }), [
    '/storage/publicRead holds_data',
  ])
  // A name that every object inherits is no database.
  assert.deepEqual(pointers(spec, { ...spec, databases: { main, constructor: main } as never }), [
    '/databases/constructor holds_data',
  ])
})

test('a service that is new is switched off, with all that was set of it: its data stays known', () => {
  const mail = { enabled: true, version: '1', keep: 7 } as never
  assert.deepEqual(revertSpec({ ...spec, services: { ...spec.services, mail } }, spec), {
    ok: true,
    spec: { ...spec, services: { ...spec.services, mail: { enabled: false, version: '1', keep: 7 } } },
  })
})
