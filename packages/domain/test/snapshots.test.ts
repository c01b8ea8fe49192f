import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  copyManner,
  copyTitle,
  emptySpec,
  isSnapshotData,
  type KnownSnapshot,
  mostSnapshots,
  snapshotBlocker,
  snapshotName,
  snapshotSubject,
  spareBeforeRestore,
} from '../src/index.ts'
import { printManifest } from '../src/print-manifest.ts'

const known = (name: string, source: KnownSnapshot['source'] = 'manual'): KnownSnapshot => ({
  id: `snp_${name}`,
  name,
  source,
  createdAt: '2026-01-01T00:00:00.000Z',
})

test('a snapshot is of a database, or of a service with its type; a database wins over a service called like it', () => {
  const database = { type: 'postgresql', version: '18', exposePort: false }
  const redis = { enabled: true, version: '8' } as never
  const spec = { databases: { main: database }, services: { redis } }
  const main = snapshotSubject(spec, 'main')
  assert.deepEqual([main?.part, main?.data, main?.version], ['database:main', 'postgresql-main', '18'])
  const service = snapshotSubject(spec, 'redis')
  assert.deepEqual([service?.kind, service?.part, service?.data], ['service', 'service:redis', 'redis'])
  assert.equal(snapshotSubject({ ...spec, databases: { redis: database } }, 'redis')?.part, 'database:redis')
  for (const name of ['other', 'constructor', '__proto__', 'rabbitmq'])
    assert.equal(snapshotSubject(spec, name), null, name)
})

test('names are made of the time, and no two are the same', () => {
  const now = new Date('2026-11-26T15:04:59.000Z')
  const first = snapshotName(now, 'snapshot', [])
  const second = snapshotName(now, 'snapshot', [known(first)])
  const third = snapshotName(now, 'snapshot', [known(first), known(second)])
  assert.deepEqual(
    [first, second, third],
    ['snapshot-20261126-1504', 'snapshot-20261126-1504-2', 'snapshot-20261126-1504-3'],
  )
  assert.ok([first, second].every((name) => !isSnapshotData(name)))
})

test('a name is taken once, and there are only so many that people made', () => {
  const many = Array.from({ length: mostSnapshots }, (_, at) => known(`s${at}`))
  assert.match(snapshotBlocker([known('one')], 'one') ?? '', /already/)
  assert.equal(snapshotBlocker(many.slice(1), 'new'), null)
  assert.match(snapshotBlocker(many, 'new') ?? '', /Delete one first/)
  // Those of restores count for themselves.
  assert.equal(snapshotBlocker([...many.slice(1), known('b', 'before-restore')], 'new'), null)
})

test('of the snapshots that restores made the newest three stay, whatever people made between', () => {
  const all = ['b5', 'b4', 'm', 'b3', 'b2', 'b1'].map((name) => known(name, name === 'm' ? 'manual' : 'before-restore'))
  assert.deepEqual(
    spareBeforeRestore(all).map(({ name }) => name),
    ['b2', 'b1'],
  )
  const others = ['r4', 'a5', 'a4', 'a3', 'a2', 'a1', 'r3', 'r2', 'r1'].map((name) =>
    known(name, name.startsWith('a') ? 'base' : 'before-reset'),
  )
  assert.deepEqual(
    spareBeforeRestore(others).map(({ name }) => name),
    ['r1'],
    'each kind by itself, and never what an archive begins with',
  )
})

test('what runs stops for a copy unless its type holds the data', () => {
  assert.equal(copyManner({ runs: true, holds: true }), 'live')
  assert.equal(copyManner({ runs: true, holds: false }), 'stop')
  assert.equal(copyManner({ runs: false, holds: true }), 'rest')
  assert.match(copyTitle('PostgreSQL main', 'live'), /while it runs/)
  assert.match(copyTitle('MariaDB main', 'stop'), /^Stop MariaDB main, /)
})

test('the project file of a project with a clone makes a database of its own there', () => {
  const clone = { type: 'postgresql', version: '18', exposePort: false, inside: 'main', primary: false }
  const text = printManifest({ ...emptySpec('Shop'), databases: { twin: clone } })
  assert.doesNotMatch(text, /inside/)
})
