import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logLevels } from '@stackquay/contract'
import { isFiltered, levels, localTime, logQueryOf, readLogSearch, timeOf } from '../src/lib/log-query.ts'

const now = Date.parse('2026-03-01T12:00:00.000Z')

test('an address brings only what a log view understands', () => {
  const search = { workload: 'node', q: 'GET', regex: true, level: 'warning', since: '1h', until: 'soon', other: 1 }
  assert.deepEqual(readLogSearch(search), { workload: 'node', q: 'GET', regex: true, level: 'warning', since: '1h' })
  assert.deepEqual(readLogSearch({ level: 'loud', since: 'yesterday', regex: 'yes', q: '' }), {})
  assert.deepEqual(readLogSearch({ q: 404 }), { q: '404' })
})

test('a span is counted from now, a time stays as it is', () => {
  assert.deepEqual(logQueryOf({ since: '15m' }, now), { since: '2026-03-01T11:45:00.000Z' })
  const range = { since: '2026-03-01T10:00:00.000Z', until: '2026-03-01T11:00:00.000Z' }
  assert.deepEqual(logQueryOf(range, now), range)
})

test('the switch for regular expressions says nothing without a text', () => {
  assert.deepEqual(logQueryOf({ regex: true }, now), {})
  assert.deepEqual(logQueryOf({ q: 'a+', regex: true }, now), { q: 'a+', regex: 'true' })
})

test('one workload is a choice, not a filter', () => {
  assert.equal(isFiltered({ workload: 'node' }), false)
  assert.equal(isFiltered({ workload: 'node', level: 'error' }), true)
})

test('a time goes through a field in the reader’s time zone and comes back the same', () => {
  const time = '2026-03-01T10:15:00.000Z'
  assert.equal(timeOf(localTime(time)), time)
  assert.equal(timeOf(''), undefined)
  assert.equal(localTime('tomorrow'), '')
})

test('the levels to choose from are those of the service', () => {
  assert.deepEqual(levels, logLevels)
})
