import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newPassword } from '../src/lib/new-password.ts'

test('a new password is four groups of five characters that are not taken for each other', () => {
  const made = new Set(Array.from({ length: 200 }, () => newPassword((bytes) => crypto.getRandomValues(bytes))))
  assert.equal(made.size, 200)
  for (const password of made) {
    assert.match(password, /^(?:[a-zA-Z2-9]{5}-){3}[a-zA-Z2-9]{5}$/)
    assert.doesNotMatch(password, /[0O1lIo]/)
  }
})

test('bytes that would make some characters likelier are thrown away', () => {
  let call = 0
  const password = newPassword((bytes) => {
    call += 1
    bytes.fill(call === 1 ? 255 : 0)
  })
  assert.deepEqual([password, call], ['aaaaa-aaaaa-aaaaa-aaaaa', 2])
})
