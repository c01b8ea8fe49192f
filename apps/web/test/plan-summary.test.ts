import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summaryOf } from '../src/lib/plan-summary.ts'

test('a plan says how many of the running workloads it disturbs, and what data it deletes', () => {
  const summary = summaryOf({
    plan: {
      steps: [{ title: 'Stop', workload: 'node', because: [] }],
      starts: ['redis'],
      restarts: ['node'],
      stops: [],
      keepsRunning: ['postgresql-main', 'python', 'static'],
      deletesData: ['reports'],
      trashUntil: '2026-03-31T09:30:00Z',
      changes: [],
      warnings: [],
      after: null,
      exact: true,
    },
  })
  assert.deepEqual([summary.restarts, summary.running, summary.starts, summary.nothing], [1, 4, 1, false])
  assert.deepEqual(summary.deletesData, ['reports'])
})
