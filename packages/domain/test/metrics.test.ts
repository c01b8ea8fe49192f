import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type MetricPoint,
  type MetricValues,
  mergePoints,
  metricColumns,
  metricRanges,
  metricSteps,
  requestsBetween,
  rollUp,
  type UsageReading,
  usageBetween,
} from '../src/index.ts'

const values = (known: Readonly<Record<string, number>>): MetricValues =>
  metricColumns.map((column) => known[column] ?? null)
const named = (row: MetricValues) =>
  Object.fromEntries(metricColumns.flatMap((column, index) => (row[index] == null ? [] : [[column, row[index]]])))
const reading = (change: Partial<UsageReading> = {}): UsageReading => ({
  run: 'r1',
  cpuSeconds: 10,
  memoryBytes: 1000,
  readBytes: 100,
  writtenBytes: 200,
  receivedBytes: null,
  sentBytes: null,
  ...change,
})

test('points of a longer step have means of what is there, maxima of minutes, and sums of what was counted', () => {
  const minutes: MetricPoint[] = [
    { time: 600, values: values({ cpu: 1000, memory: 10, read: 5 }) },
    { time: 660, values: values({ cpu: 5000, memory: 20 }) },
    { time: 720, values: values({ memory: 31, read: 7 }) },
    { time: 900, values: values({ cpu: 300, memory: 9, requests: 4, errors: 1, duration: 80 }) },
  ]
  const five = rollUp(minutes, 300)
  assert.deepEqual(
    five.map(({ time, values: row }) => [time, named(row)]),
    [
      [600, { cpu: 3000, cpuMax: 5000, memory: 20, memoryMax: 31, read: 12 }],
      [900, { cpu: 300, cpuMax: 300, memory: 9, memoryMax: 9, requests: 4, errors: 1, duration: 80 }],
    ],
  )
  assert.deepEqual(
    rollUp(five, 3600).map(({ time, values: row }) => [time, named(row)]),
    [[0, { cpu: 1650, cpuMax: 5000, memory: 15, memoryMax: 31, read: 12, requests: 4, errors: 1, duration: 80 }]],
  )
  assert.deepEqual(rollUp([], 300), [], 'a gap stays one')
})

test('points that were written again take the place of those of before, in the order of time', () => {
  const [one, two, again] = [10, 20, 10].map((time, index) => ({ time, values: values({ cpu: index }) }))
  assert.deepEqual(mergePoints([two!, one!], [again!]), [again, two])
})

test('what a run used between two readings is what its counters grew by', () => {
  const before = reading()
  const now = reading({ cpuSeconds: 40, memoryBytes: 3000, readBytes: 150, writtenBytes: 200 })
  assert.deepEqual(named(usageBetween(before, now, 60)), { cpu: 5000, memory: 3000, read: 50, written: 0 })
  assert.deepEqual(named(usageBetween(null, now, 60)), { memory: 3000 }, 'nothing to compare with')
  assert.deepEqual(
    named(usageBetween(before, { ...now, run: 'r2', cpuSeconds: 6 }, 60)),
    { cpu: 1000, memory: 3000, read: 150, written: 200 },
    'a run that began in between has used all that it counts',
  )
  assert.equal(named(usageBetween(before, reading({ cpuSeconds: 3 }), 60)).cpu, 500, 'counters that fell began anew')
  assert.equal(named(usageBetween(before, now, 0)).cpu, undefined, 'no time passed')
})

test('requests are counted on over a proxy that began anew', () => {
  const before = { classes: [0, 90, 0, 0, 10], seconds: 5 }
  const named1 = named(requestsBetween(before, { classes: [0, 95, 0, 0, 12], seconds: 6.5 })!)
  assert.deepEqual(named1, { requests: 7, errors: 2, duration: 1500 })
  assert.deepEqual(named(requestsBetween(before, { classes: [0, 3, 0, 0, 1], seconds: 0.2 })!), {
    requests: 4,
    errors: 1,
    duration: 200,
  })
  assert.equal(requestsBetween(null, before), null)
})

test('every range is made of points that are kept for as long, and has a number of them that a chart can show', () => {
  for (const [range, { whole, step }] of Object.entries(metricRanges)) {
    const kept = metricSteps.find((one) => one.step === step)
    assert.ok(kept !== undefined && kept.kept >= whole, range)
    assert.equal(whole % step, 0, range)
    assert.ok(whole / step >= 60 && whole / step <= 2016, range)
  }
  for (const { step, block, from } of metricSteps) {
    assert.equal(block % step, 0)
    // What a point is made from lies in one block, too.
    const source = metricSteps.find((one) => one.step === from)
    if (source !== undefined) assert.ok(step % source.step === 0 && source.block % step === 0)
  }
})
