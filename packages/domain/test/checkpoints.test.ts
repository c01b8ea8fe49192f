import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkpointBlocker,
  checkpointData,
  checkpointOfData,
  checkpointSecret,
  checkpointSource,
  checkpointSpec,
  dataSince,
  emptySpec,
  isCopiedData,
  isSecretOfCopy,
  mostCheckpoints,
  snapshotSecret,
  takenSince,
} from '../src/index.ts'

const id = 'chk_01m7x1001nzn07vcmqy9nx'
const known = (name: string, source: 'manual' | 'before-restore' = 'manual') => ({ name, source })

test('copies are told from data of the project, and by whose they are', () => {
  for (const name of [checkpointSource(id), checkpointData(id, 'postgresql-main'), checkpointData(id, 'redis')]) {
    assert.equal(checkpointOfData(name), id)
    assert.ok(isCopiedData(name), name)
    assert.match(name, /^[A-Za-z0-9_-]{1,120}$/)
  }
  for (const name of ['postgresql-chk_1', 'redis', 'chk', 'postgresql-main']) {
    assert.equal(checkpointOfData(name), null)
    assert.ok(!isCopiedData(name), name)
  }
  for (const name of ['snp_01', 'arc_01']) assert.ok(isCopiedData(name), name)
  assert.equal(new Set([checkpointSource(id), checkpointData(id, 'source'), checkpointData(id, 'redis')]).size, 3)
})

test('texts of copies are no secrets of the project', () => {
  for (const name of [checkpointSecret(id), snapshotSecret('snp_1', 'database/main/password')])
    assert.ok(isSecretOfCopy(name), name)
  for (const name of ['env/API_KEY', 'database/main/password', 'env/checkpoint', 'source/url'])
    assert.ok(!isSecretOfCopy(name), name)
})

test('a name is taken once, and there are only so many that people made', () => {
  const many = Array.from({ length: mostCheckpoints }, (_, at) => known(`c${at}`))
  assert.match(checkpointBlocker([known('one')], 'one') ?? '', /already/)
  assert.equal(checkpointBlocker(many.slice(1), 'new'), null)
  assert.match(checkpointBlocker(many, 'new') ?? '', /Delete one first/)
  // Those of restores count for themselves, and keep their names.
  assert.equal(checkpointBlocker([...many.slice(1), known('b', 'before-restore')], 'new'), null)
  assert.match(checkpointBlocker([known('b', 'before-restore')], 'b') ?? '', /already/)
})

test('the specification is that of the checkpoint, whole; the name stays', () => {
  const database = { type: 'postgresql', version: '15', exposePort: false }
  const held = {
    ...emptySpec('Old'),
    databases: { main: database },
    env: { A: { secret: false, value: 'a' } as const },
  }
  const now = { ...emptySpec('New'), databases: { second: { ...database, version: '18' } } }
  assert.deepEqual(checkpointSpec(now, held), { ...held, name: 'New' })
})

test('data that came later goes, copies of whatever kind stay', () => {
  const there = ['postgresql-main', 'postgresql-second', 'redis', 'snp_1', id, checkpointData(id, 'redis')]
  assert.deepEqual(dataSince(there, ['postgresql-main', 'redis']), ['postgresql-second'])
  assert.deepEqual(dataSince(there, ['postgresql-main', 'postgresql-second', 'redis', 'mailpit']), [])
})

test('host names and published ports of others are told, ports inside are not', () => {
  const database = (exposePort: boolean) => ({ type: 'postgresql', version: '18', exposePort })
  const databases = { open: database(true), closed: database(false) }
  const port = (workload: string, hostPort: number) => ({ workload, port: 'postgresql', hostPort })
  const held = {
    hosts: ['a.example.org', 'b.example.org'],
    ports: [
      port('postgresql-open', 31_000),
      port('postgresql-closed', 31_001),
      port('redis', 31_002),
      port('web', 31_003),
    ],
  }
  const services = { redis: { exposePort: true } } as never
  const nobody = { host: () => null, port: () => null }
  assert.deepEqual(takenSince(held, { databases, services }, nobody), [])
  const somebody = {
    host: (name: string) => (name.startsWith('b') ? 'the project "other"' : null),
    port: () => 'the project "third"',
  }
  assert.deepEqual(takenSince(held, { databases, services }, somebody), [
    'The host name "b.example.org" belongs to the project "other" now.',
    'The port 31000 of postgresql-open belongs to the project "third" now.',
    'The port 31002 of redis belongs to the project "third" now.',
  ])
})
