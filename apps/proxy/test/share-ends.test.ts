import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createShareEnds } from '../src/share-ends.ts'
import { route, table } from './support.ts'

const target = { kind: 'page', page: 'stopped' } as const
const shared = (expiresAt: number) => ({ ...route('shop', target), share: { id: 'shr_1', expiresAt } })

test('what was let in before its share was removed, and comes after, is closed at once', () => {
  const ends = createShareEnds()
  const before = shared(Date.now() + 60_000)
  ends.enforce(table([before]))
  let closed = 0
  const close = () => {
    closed += 1
  }
  ends.add(before.share, close)
  assert.equal(closed, 0)
  ends.enforce(table([]))
  assert.equal(closed, 1)
  ends.add(before.share, close)
  assert.equal(closed, 2)
  ends.stop()
})
