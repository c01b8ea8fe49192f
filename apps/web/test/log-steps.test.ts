import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAllLogsSearch } from '../src/lib/log-search.ts'
import { stepsOf, sumOf } from '../src/lib/log-steps.ts'

test('each step knows its time and its lines, and neighbours do not overlap', () => {
  const levels = { error: [1, 0], warning: [0, 2], info: [3, 0], debug: [0, 0], none: [1, 1] }
  const at = '2026-01-01T00:00:00.000Z'
  const steps = stepsOf({ from: at, stepSeconds: 60, countedFrom: at, partial: false, topErrors: [], levels })
  assert.deepEqual(
    steps.map(({ since, until, total }) => [since, until, total]),
    [
      ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:59.999Z', 5],
      ['2026-01-01T00:01:00.000Z', '2026-01-01T00:01:59.999Z', 3],
    ],
  )
  assert.deepEqual([sumOf(levels.none), sumOf(undefined)], [2, 0])
})

test('an address that says nonsense searches for nothing', () => {
  const nonsense = { q: '', regex: 'yes', level: 'loud', since: 'ever', project: '../x' }
  assert.deepEqual(readAllLogsSearch(nonsense), {})
  const good = { q: 'a', regex: true, level: 'error', since: '24h', project: 'shop' }
  assert.deepEqual(readAllLogsSearch(good), good)
  assert.deepEqual(readAllLogsSearch({ q: 42 }), { q: '42' })
})
