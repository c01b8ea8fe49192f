import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCountdown } from '../src/lib/countdown.ts'

test('time that is left runs down like a clock, and never below nothing', () => {
  assert.deepEqual([172_800 + 3 * 3600, 3723, 3600, 299.2, 9, 0, -5].map(formatCountdown), [
    '2 d 03:00:00',
    '1:02:03',
    '1:00:00',
    '5:00',
    '0:09',
    '0:00',
    '0:00',
  ])
})
