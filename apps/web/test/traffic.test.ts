import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLatency, formatShare, stacked } from '../src/lib/traffic.ts'

test('bars stand on each other, the highest first, so that the lower ones are drawn over it', () => {
  const points = [
    { status2xx: 5, status3xx: 1, status4xx: 2, status5xx: 3 },
    { status2xx: 0, status3xx: 0, status4xx: 4, status5xx: 0 },
  ]
  assert.deepEqual(stacked(points), [
    { name: 'status5xx', tops: [11, 4] },
    { name: 'status4xx', tops: [8, 4] },
    { name: 'status3xx', tops: [6, 0] },
    { name: 'status2xx', tops: [5, 0] },
  ])
})

test('a few failures among many requests do not read as none', () => {
  assert.deepEqual(
    [formatShare(0, 0), formatShare(0, 9), formatShare(1, 100_000), formatShare(3, 200), formatShare(1, 4)],
    ['0 %', '0 %', '< 0.1 %', '1.5 %', '25 %'],
  )
})

test('times of answers keep two digits that mean something', () => {
  assert.deepEqual([null, 0, 0.0004, 0.0099, 0.01, 0.0384, 0.9994, 2.44, 9.97, 61].map(formatLatency), [
    '–',
    '0 ms',
    '0.4 ms',
    '9.9 ms',
    '10 ms',
    '38 ms',
    '999 ms',
    '2.4 s',
    '10 s',
    '61 s',
  ])
})
