import assert from 'node:assert/strict'
import { test } from 'node:test'
import { added, axisOf, figuresOf, filled, metricRanges, perTime, timesOf } from '../src/lib/metrics.ts'

const item = {
  workload: 'node',
  cpu: [0.1, null, 0.3],
  cpuMax: [0.2, null, 0.9],
  memoryBytes: [10, null, 30],
  memoryMaxBytes: [15, null, 40],
  readBytes: [1, null, 2],
  writtenBytes: null,
  receivedBytes: null,
  sentBytes: null,
}

test('each step has its time, whatever of it is known', () => {
  const from = '2026-01-01T00:00:00.000Z'
  const begin = Date.parse(from) / 1000
  const metrics = { from, stepSeconds: 300, items: [item], requests: null }
  assert.deepEqual(timesOf(metrics), [begin, begin + 300, begin + 600])
  const requests = { requests: [1, 2], errors: [0, 0], seconds: [null, null] }
  assert.deepEqual(timesOf({ ...metrics, items: [], requests }), [begin, begin + 300])
  assert.deepEqual(timesOf({ ...metrics, items: [] }), [])
  assert.deepEqual(filled(null, 2), [null, null])
  assert.deepEqual(Object.keys(axisOf), [...metricRanges])
})

test('figures are means of what was measured, peaks and sums; what was never measured is not 0', () => {
  assert.deepEqual(figuresOf(item), {
    workload: 'node',
    cpu: 0.2,
    cpuMax: 0.9,
    memory: 20,
    memoryMax: 40,
    read: 3,
    written: null,
    received: null,
    sent: null,
  })
})

test('what was counted in a step is shown for a second or a minute, and gaps stay gaps', () => {
  assert.deepEqual(perTime([600, null, 0], 300, 60), [120, null, 0])
  assert.equal(perTime(null, 300, 60), null)
  assert.deepEqual(added([1, null, 3, null], [10, 20, null, null]), [11, 20, 3, null])
  assert.deepEqual(added(null, [1]), [1])
  assert.equal(added(null, null), null)
})
