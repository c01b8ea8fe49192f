import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CrashHistory, noCrashes, planRestart, restartPolicy } from '../src/restart-policy.ts'

test('waits grow with each crash in a row, and after the last wait it is given up', () => {
  let history: CrashHistory = noCrashes
  const waits: number[] = []
  let now = 0
  for (;;) {
    const decision = planRestart(history, now, now + 50)
    history = decision.history
    if (!decision.restart) break
    waits.push(decision.afterMs)
    now += 50 + decision.afterMs
  }
  assert.deepEqual(waits, [200, 1_000, 2_000, 4_000, 8_000])
  assert.equal(history.crashes.length, 6)
})

test('a run that lasted begins the count anew, at the very millisecond and not one before', () => {
  const history = { crashes: [1, 2, 3, 4, 5] }
  const steady = planRestart(history, 1_000, 1_000 + restartPolicy.steadyMs)
  assert.deepEqual(steady, { restart: true, afterMs: 200, history: { crashes: [61_000] } })
  assert.equal(planRestart(history, 1_001, 1_000 + restartPolicy.steadyMs).restart, false)
})

test('a clock that was set back counts as a short run', () => {
  assert.deepEqual(planRestart({ crashes: [500] }, 90_000, 10), {
    restart: true,
    afterMs: 1_000,
    history: { crashes: [500, 10] },
  })
})

test('the history that is given stays as it was', () => {
  const history = Object.freeze({ crashes: Object.freeze([1]) })
  assert.deepEqual(planRestart(history, 0, 5).history.crashes, [1, 5])
})
