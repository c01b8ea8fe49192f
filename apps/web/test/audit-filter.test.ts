import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditQueryOf, fromLocalInput, isNarrowed, readAuditFilter, toLocalInput } from '../src/lib/audit-filter.ts'

test('an address gives the filter it names, and what is not understood is left out', () => {
  const filter = readAuditFilter({ view: 'audit', actor: 'ada', q: 42, outcome: 'denied', period: 'year', action: '' })
  assert.deepEqual(filter, { actor: 'ada', q: '42', outcome: 'denied' })
  assert.deepEqual(readAuditFilter({ outcome: 'maybe', project: ['x'], since: '2026-01-01' }), {})
  assert.equal(readAuditFilter({ q: 'x'.repeat(500) }).q?.length, 200)
})

test('times count only for a period of one’s own, and only when they are times', () => {
  const own = readAuditFilter({ period: 'custom', since: '2026-01-01T10:00:00+02:00', until: 'soon' })
  assert.deepEqual(own, { period: 'custom', since: '2026-01-01T08:00:00.000Z' })
  assert.deepEqual(readAuditFilter({ period: 'day', since: '2026-01-01T00:00:00Z' }), { period: 'day' })
})

test('a period becomes a time counted back from now', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  assert.deepEqual(auditQueryOf({ period: 'hour', actor: 'ada' }, now), {
    actor: 'ada',
    since: '2026-11-20T11:00:00.000Z',
  })
  assert.deepEqual(auditQueryOf({ period: 'custom', until: '2026-11-20T00:00:00.000Z' }, now), {
    until: '2026-11-20T00:00:00.000Z',
  })
})

test('an input of date and time speaks the time of here, and comes back as the same moment', () => {
  const time = '2026-07-01T09:30:00.000Z'
  assert.equal(new Date(toLocalInput(time)).toISOString(), time)
  assert.equal(fromLocalInput(toLocalInput(time)), time)
  assert.deepEqual([toLocalInput(undefined), fromLocalInput('')], ['', undefined])
})

test('an empty filter narrows nothing', () => {
  assert.equal(isNarrowed({}), false)
  assert.equal(isNarrowed({ period: 'day' }), true)
})
