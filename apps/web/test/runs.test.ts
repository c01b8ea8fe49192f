import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '@stackquay/contract'
import { byRuntime, newerRun, placeOf, runSeconds, trendOf } from '../src/lib/runs.ts'

const started = '2026-03-01T12:00:00.000Z'
function run(change: Partial<Run> = {}): Run {
  return {
    id: 'run_1',
    project: 'prj_1',
    kind: 'test',
    name: 'node.test',
    label: 'node --test',
    runtime: 'node',
    state: 'succeeded',
    phase: null,
    filter: null,
    dueAt: null,
    exitCode: 0,
    signal: null,
    error: null,
    tests: null,
    actor: 'ada',
    createdAt: started,
    startedAt: started,
    finishedAt: '2026-03-01T12:00:04.000Z',
    durationSeconds: 4,
    output: null,
    ...change,
  }
}

test('a run shows the time it took, and the time so far while it runs', () => {
  const now = Date.parse(started) + 9000
  assert.equal(runSeconds(run(), now), 4)
  assert.equal(runSeconds(run({ finishedAt: null, durationSeconds: null }), now), 9)
  assert.equal(runSeconds(run({ startedAt: null, finishedAt: null, durationSeconds: null }), now), null)
})

test('late news never make an ended run run again', () => {
  const ended = run()
  assert.equal(newerRun(ended, run({ state: 'running' })), ended)
  const other = run({ id: 'run_2', state: 'running' })
  assert.equal(newerRun(ended, other), other)
})

test('a place is the file, with its line when that is known', () => {
  assert.equal(placeOf({ file: 'test/cart.test.js', line: 14 }), 'test/cart.test.js:14')
  assert.equal(placeOf({ file: 'test/cart.test.js', line: null }), 'test/cart.test.js')
  assert.equal(placeOf({ file: null, line: 14 }), null)
})

test('a trend has the whole runs of one suite that came to an end, oldest first', () => {
  const counts = { total: 3, passed: 1, failed: 2, skipped: 0, flaky: 0 }
  const runs = [
    run({ id: 'run_6', state: 'running' }),
    run({ id: 'run_5', state: 'failed', tests: counts }),
    run({ id: 'run_4', filter: 'cart' }),
    run({ id: 'run_3', name: 'python.pytest' }),
    run({ id: 'run_2', state: 'cancelled' }),
    run({ id: 'run_1' }),
  ]
  assert.deepEqual(
    trendOf(runs, 'node.test').map((point) => [point.run.id, point.failed]),
    [
      ['run_1', null],
      ['run_5', 2],
    ],
  )
})

test('what belongs to no runtime stands below what does', () => {
  const items = [{ runtime: null }, { runtime: 'node' }, { runtime: 'php' }, { runtime: 'node' }]
  assert.deepEqual(
    byRuntime(items).map((group) => [group.runtime, group.items.length]),
    [
      ['node', 2],
      ['php', 1],
      [null, 1],
    ],
  )
})
