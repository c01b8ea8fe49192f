import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommandOutput, CommandState, Exit } from '@stackquay/engine-api'
import { endOf, linesOf } from '../src/shares/tunnel-output.ts'

test('lines are whole, of each stream on its own, without control characters and without empty ones', async () => {
  const lines = linesOf(
    output(
      [
        ['stdout', 'https://one'],
        ['stderr', 'slow '],
      ],
      [
        ['stdout', '.example\r\n\n\u001b[31mred\u001b[0m\u0007\n'],
        ['stderr', 'start\nhalf'],
      ],
    ),
  )
  assert.deepEqual(await Array.fromAsync(lines), ['https://one.example', 'red', 'slow start', 'half'])
})

test('a program that ended is told by how it did, and by what it said last', () => {
  const exited = ended('exited', { code: 3, signal: null })
  assert.equal(endOf(exited, null, ''), 'Its program ended with exit code 3.')
  assert.equal(endOf(exited, null, 'no route'), 'Its program ended with exit code 3. It said: no route')
  assert.equal(endOf(ended('exited', { code: null, signal: 'SIGKILL' }), null, ''), 'Its program ended by SIGKILL.')
  const cancelled = ended('cancelled', { code: null, signal: 'SIGTERM' })
  assert.equal(endOf(cancelled, null, 'waiting'), 'It did not tell a public address in time. It said: waiting')
  assert.equal(endOf(cancelled, 'https://one.example', ''), 'Its program ended by SIGTERM.')
  for (const state of [null, ended('lost', null)])
    assert.equal(endOf(state, null, 'waiting'), 'Its program ended with the machine. Make a new share.')
})

async function* output(
  ...batches: readonly (readonly (readonly [CommandOutput['stream'], string])[])[]
): AsyncGenerator<readonly CommandOutput[]> {
  for (const batch of batches)
    yield batch.map(([stream, text]) => ({ stream, time: 0, bytes: Buffer.from(text), from: 0, to: 0 }))
}

function ended(cause: CommandState['cause'], exit: Pick<Exit, 'code' | 'signal'> | null): CommandState {
  return {
    ref: { project: 'prj_1', id: 'shr_1' },
    state: 'ended',
    pid: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:01.000Z',
    exit: exit && { ...exit, at: '2026-01-01T00:00:01.000Z' },
    cause,
    size: null,
    output: { first: 0, end: 0 },
  }
}
