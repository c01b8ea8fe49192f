import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeInOrder } from '../src/logs/log-order.ts'

/** Lines of a workload at these seconds, of which some were handed over. */
function waiting(workload: string, seconds: readonly number[], at = 0) {
  const lines = seconds.map((second) => ({
    ref: { project: 'prj_1', workload },
    time: new Date(second * 1000).toISOString(),
    stream: 'stdout' as const,
    text: '0123456789',
    cursor: `${workload}.${second}`,
  }))
  return { workload, batch: { lines, columns: null }, length: lines.length, at }
}

const shown = ({ slices }: ReturnType<typeof takeInOrder>) =>
  slices.map(({ workload, from, to }) => `${workload} ${from}-${to}`)

test('lines of several workloads are taken in the order of time, in runs', () => {
  const taken = takeInOrder([waiting('web', [1, 2, 5, 9]), waiting('db', [3, 4, 8])], 1e6)
  assert.deepEqual(shown(taken), ['web 0-2', 'db 0-2', 'web 2-3', 'db 2-3'])
})

test('it ends where one has no more: its next line may be older than those of the others', () => {
  const [web, db] = [waiting('web', [1, 2]), waiting('db', [3, 4])]
  assert.deepEqual(shown(takeInOrder([web, db], 1e6)), ['web 0-2'])
  assert.deepEqual([web.at, db.at], [2, 0])
})

test('it ends when the room is used up, after at least one line, and goes on from there', () => {
  const web = waiting('web', [1, 2, 3, 4], 1)
  assert.deepEqual(shown(takeInOrder([web], 1)), ['web 1-2'])
  const next = takeInOrder([web], 200)
  assert.deepEqual([shown(next), next.size, web.at], [['web 2-4'], 340, 4])
})
