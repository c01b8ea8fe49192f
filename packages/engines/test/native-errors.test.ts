import assert from 'node:assert/strict'
import { appendFile } from 'node:fs/promises'
import { test } from 'node:test'
import { asEngineError } from '../src/native/errors.ts'

const signal = new AbortController().signal

test('a full disk is said to be a full disk', async () => {
  const error = await appendFile('/dev/full', 'x').then(
    () => null,
    (reason: unknown) => asEngineError(reason, signal),
  )
  assert.equal(error?.code, 'disk_full')
  assert.equal(error?.retryable, true)
  assert.match(error?.hint ?? '', /Free some space/)
})
