import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogBatch, LogColumns } from '@stackquay/engine-api'
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

test('lines that come as columns are never made one by one', () => {
  const nobody = { bytes: Buffer.alloc(0), latin1: '', isPlain: true }
  const columns: LogColumns = {
    ref: { project: 'prj_1', workload: 'web' },
    length: 2,
    streams: new Uint8Array(2),
    printed: [nobody, nobody],
    starts: Uint32Array.of(0, 11),
    ends: Uint32Array.of(10, 21),
    times: Float64Array.of(1000, 2000),
    log: 'log',
    outs: Float64Array.of(11, 22),
    errs: new Float64Array(2),
  }
  const batch: LogBatch = {
    columns,
    get lines(): never {
      throw new Error('An object for each line costs more than all else.')
    },
  }
  const [web, db] = [{ workload: 'web', batch, length: 2, at: 0 }, waiting('db', [1.5, 3])]
  assert.deepEqual(shown(takeInOrder([web, db], 1e6)), ['web 0-1', 'db 0-1', 'web 1-2'])
})
