import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { waitFor } from '@stackquay/testkit/wait-for'
import type { Entries } from '../src/projects/model-entry.ts'
import { createTelling } from '../src/projects/telling.ts'

test('the first change of a row is told at once, those after it together and soon', async () => {
  const told: (readonly string[])[] = []
  const telling = createTelling({ find: () => null } as unknown as Entries, {
    store: { transaction: () => Promise.reject(new Error('no status changed')) },
    publish: async (ids) => void told.push(ids),
    onError: (error) => assert.fail(String(error)),
    now: () => new Date(),
  })
  telling.touched('one')
  await turn()
  await turn()
  assert.deepEqual(told, [['one']])
  for (const id of ['two', 'three', 'two', 'four']) telling.touched(id)
  await turn()
  await turn()
  assert.equal(told.length, 1)
  // Nobody asks for it.
  await waitFor('the others', async () => told.length > 1)
  assert.deepEqual(told, [['one'], ['two', 'three', 'four']])
  telling.touched('five')
  await telling.settled()
  assert.deepEqual(told.at(-1), ['five'], 'whoever waits for it does not wait for others')
})
