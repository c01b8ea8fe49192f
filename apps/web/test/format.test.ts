import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatCpu, formatDuration, formatElapsed, formatRelative } from '../src/lib/format.ts'

test('bytes are shown with at most two digits behind nothing that matters', () => {
  assert.equal(formatBytes(0), '0 B')
  assert.equal(formatBytes(999), '999 B')
  assert.equal(formatBytes(1536), '1.5 KB')
  assert.equal(formatBytes(50 * 1024 ** 2), '50 MB')
  assert.equal(formatBytes(1000 * 1024 ** 2), '1.0 GB')
})

test('a share of a core is shown as per cent, and as a dash while it is unknown', () => {
  assert.equal(formatCpu(0), '0 %')
  assert.equal(formatCpu(0.004), '0.4 %')
  assert.equal(formatCpu(1.27), '127 %')
  assert.equal(formatCpu(null), '–')
})

test('durations name their two largest units', () => {
  assert.equal(formatDuration(-3), '0 s')
  assert.equal(formatDuration(59.9), '59 s')
  assert.equal(formatDuration(125), '2 min 5 s')
  assert.equal(formatDuration(7200), '2 h')
  assert.equal(formatDuration(90_061), '1 d 1 h')
})

test('what an operation took is shown as finely as a person can use it', () => {
  assert.equal(formatElapsed(38.4), '38 ms')
  assert.equal(formatElapsed(2449), '2.4 s')
  assert.equal(formatElapsed(65_000), '1 min 5 s')
})

test('times are relative to now, in both directions', () => {
  const now = Date.parse('2026-03-01T12:00:00Z')
  assert.equal(formatRelative('2026-03-01T11:59:58Z', now, 'en'), 'now')
  assert.equal(formatRelative('2026-03-01T11:57:00Z', now, 'en'), '3 minutes ago')
  assert.equal(formatRelative('2026-03-03T12:00:00Z', now, 'en'), 'in 2 days')
})
