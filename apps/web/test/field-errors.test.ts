import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorsAt, errorsElsewhere, pointerPart } from '../src/lib/field-errors.ts'

const errors = [
  { pointer: '/node/port', detail: 'Too large.' },
  { pointer: '/node/devServer/port', detail: 'Not a number.' },
  { pointer: '/nodes', detail: 'Unknown.' },
]

test('a field shows its own errors and those below it, and not those of a name that only begins like it', () => {
  assert.equal(errorsAt(errors, '/node'), 'Too large. Not a number.')
  assert.equal(errorsAt(errors, '/node/devServer'), 'Not a number.')
  assert.equal(errorsAt(errors, '/name'), null)
  assert.equal(errorsAt(undefined, '/name'), null)
})

test('an error that no field shows is not lost', () => {
  assert.deepEqual(
    errorsElsewhere(errors, ['/node']).map((error) => error.pointer),
    ['/nodes'],
  )
})

test('a key with a slash is one part of a pointer', () => {
  assert.equal(pointerPart('a/b~c'), 'a~1b~0c')
})
