import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../src/route-table.ts'
import { createShareEnds } from '../src/share-ends.ts'
import { route, table } from './support.ts'

const target = { kind: 'page', page: 'stopped' } as const
const shared = (expiresAt: number): Route => ({ ...route('shop', target), share: { id: 'shr_1', expiresAt } })

test('what was let in before its share was removed, and comes after, is closed at once', () => {
  const ends = createShareEnds()
  const before = shared(Date.now() + 60_000)
  ends.enforce(table([before]))
  let closed = 0
  const close = () => {
    closed += 1
  }
  ends.add(before, close)
  assert.equal(closed, 0)
  ends.enforce(table([]))
  assert.equal(closed, 1)
  ends.add(before, close)
  assert.equal(closed, 2)
  ends.stop()
})
