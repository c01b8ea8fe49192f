import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../src/index.ts'

test('an id is its time and its chance, in lower-case base32', () => {
  assert.equal(newId('prj', 0, new Uint8Array(10)), `prj_${'0'.repeat(26)}`)
  assert.equal(newId('op', 1, new Uint8Array(10).fill(255)), `op_${'0'.repeat(9)}1${'z'.repeat(16)}`)
  assert.equal(newId('tok', 2 ** 48 - 1, new Uint8Array(10)), `tok_7${'z'.repeat(9)}${'0'.repeat(16)}`)
  assert.equal(newId('prj', new Date(1234), new Uint8Array(10)), newId('prj', 1234, new Uint8Array(10)))
  assert.match(newId('prj'), /^prj_[0-9a-hjkmnp-tv-z]{26}$/)
  assert.throws(() => newId('prj', 0, new Uint8Array(9)), RangeError)
})

test('ids sort by their time, whatever the chance', () => {
  const times = [0, 1, 31, 32, 1_700_000_000_000, 1_700_000_000_001, 2_000_000_000_000]
  const ids = times.map((time, index) => newId('prj', time, new Uint8Array(10).fill(index % 2 === 0 ? 255 : 0)))
  assert.deepEqual(ids.toSorted(), ids)
})

test('ten thousand ids of one moment differ', () => {
  assert.equal(new Set(Array.from({ length: 10_000 }, () => newId('prj', 0))).size, 10_000)
})

test('ids of one moment sort in the order they were made', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('run', 1_700_000_000_000))
  assert.deepEqual(ids.toSorted(), ids)
})
