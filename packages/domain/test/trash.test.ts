import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueInTrash, emptySpec, purgeTime, withDatabaseAgain } from '../src/index.ts'

const now = new Date('2026-03-01T09:30:00.000Z')

test('something stays for as many days as the setting says, also over the change of clocks', () => {
  assert.equal(purgeTime(now, 30), '2026-03-31T09:30:00.000Z')
  assert.equal(purgeTime(now, 0), now.toISOString())
})

test('only what lies there and whose time is over is due', () => {
  const item = (id: string, state: 'moving' | 'kept' | 'restoring' | 'purging', purgeAt: string) => ({
    id,
    state,
    purgeAt,
  })
  const items = [
    item('over', 'kept', '2026-03-01T09:30:00.000Z'),
    item('later', 'kept', '2026-03-01T09:30:00.001Z'),
    item('moving', 'moving', '2026-01-01T00:00:00.000Z'),
    item('restoring', 'restoring', '2026-01-01T00:00:00.000Z'),
    item('purging', 'purging', '2026-01-01T00:00:00.000Z'),
  ]
  assert.deepEqual(dueInTrash(items, now), ['over'])
})

test('a database that comes back has its variables without a prefix again, unless another one has them now', () => {
  const database = { type: 'postgresql', version: '18', exposePort: false, primary: true }
  const spec = (databases: ReturnType<typeof emptySpec>['databases']) => ({ ...emptySpec('Shop'), databases })
  const alone = withDatabaseAgain(spec({}), 'main', database)
  assert.deepEqual(alone.databases, { main: database })
  const beside = withDatabaseAgain(spec({ other: { ...database, primary: false } }), 'main', database)
  assert.deepEqual([beside.databases.main?.primary, beside.databases.other?.primary], [true, false])
  const second = withDatabaseAgain(spec({ other: database }), 'main', database)
  assert.deepEqual([second.databases.main?.primary, second.databases.other?.primary], [false, true])
  const unmarked = { type: 'postgresql', version: '18', exposePort: false }
  const old = withDatabaseAgain(spec({ other: unmarked }), 'main', database)
  assert.deepEqual([old.databases.main?.primary, old.databases.other?.primary], [false, true])
})
