import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseTypeOf } from '@stackquay/catalog'
import { emptySpec, mergeProject, seedFaults, seedTurn, sourcePathFault } from '@stackquay/domain'
import { parseManifest } from '@stackquay/domain/manifest'
import { printManifest } from '@stackquay/domain/print-manifest'

const postgresql = databaseTypeOf('postgresql')!
const offers = {
  runtimes: {},
  services: {},
  databases: { postgresql: [{ version: '18', default: true, available: true, reason: null }] },
}

test('a seed is a path below the source', () => {
  for (const path of ['seed.sql', 'db/seed.sql.gz', './db/a b.sql', 'db/..seed.sql'])
    assert.equal(sourcePathFault(path), null, path)
  for (const path of [
    '/etc/passwd',
    '../seed.sql',
    'db/../../seed.sql',
    'C:\\seed.sql',
    'a\\b',
    '.',
    './',
    'a\0b',
    'a\nb',
  ])
    assert.notEqual(sourcePathFault(path), null, JSON.stringify(path))
})

test('a fault names its place', () => {
  assert.deepEqual(
    seedFaults('main', postgresql, ['a.sql', '/b.sql']).map(({ pointer, code }) => [pointer, code]),
    [['/databases/main/seed/1', 'invalid_path']],
  )
  assert.equal(seedFaults('main', { label: 'Other' } as never, 'a.sql')[0]?.code, 'no_dumps')
  assert.deepEqual(seedFaults('main', { label: 'Other' } as never, []), [])
})

test('a seed is read once; an attempt that was cut off is made anew', () => {
  assert.equal(seedTurn(undefined, null), 'none')
  assert.equal(seedTurn([], null), 'none')
  assert.equal(seedTurn(['a'], null), 'look')
  assert.equal(seedTurn(['a'], 'begun'), 'again')
  assert.equal(seedTurn(['a'], 'done'), 'none')
})

test('settings keep it, an empty list takes it away, and a project file says it', () => {
  const merge = (spec: ReturnType<typeof emptySpec>, main: object) => {
    const merged = mergeProject(spec, { databases: { main } }, {}, offers, 'keeps')
    assert.ok(merged.ok, JSON.stringify(merged))
    return merged.spec
  }
  const first = merge(emptySpec('Shop'), { type: 'postgresql', seed: 'db/seed.sql' })
  assert.deepEqual(first.databases.main?.seed, ['db/seed.sql'])
  const exposed = merge(first, { exposePort: true })
  assert.deepEqual(exposed.databases.main?.seed, ['db/seed.sql'])
  const none = merge(first, { seed: [] })
  assert.ok(!('seed' in none.databases.main!))

  const read = parseManifest(printManifest(first))
  assert.ok(read.ok, JSON.stringify(read))
  assert.deepEqual(read.manifest.patch.databases?.main?.seed, ['db/seed.sql'])
  const several = parseManifest('databases:\n  main: {type: mariadb, seed: [a.sql, b.sql]}\n')
  assert.deepEqual(several.ok && several.manifest.patch.databases?.main?.seed, ['a.sql', 'b.sql'])
  const wrong = parseManifest('databases:\n  main: {type: mariadb, seed: {a: 1}}\n')
  assert.ok(!wrong.ok)
  assert.equal(wrong.errors[0]?.pointer, '/databases/main/seed')
})
