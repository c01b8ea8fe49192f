import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutAt, marksOf } from '../src/lib/log-marks.ts'

test('a text is cut at every hit, whatever the case, and nothing of it is lost', () => {
  assert.deepEqual(cutAt('Error: error', 'error'), [
    { text: 'Error', hit: true },
    { text: ': ', hit: false },
    { text: 'error', hit: true },
  ])
  assert.deepEqual(cutAt('fine', 'error'), [{ text: 'fine', hit: false }])
})

test('an expression marks what it found, and one that is wrong marks nothing', () => {
  assert.deepEqual(marksOf('\\d+ ms', true)?.('took 12 ms in all'), [
    { text: 'took ', hit: false },
    { text: '12 ms', hit: true },
    { text: ' in all', hit: false },
  ])
  assert.deepEqual(marksOf('x*', true)?.('fine'), [{ text: 'fine', hit: false }])
  assert.equal(marksOf('(', true), null)
  assert.equal(marksOf('', false), null)
})

test('what is special in an expression is plain in a plain search', () => {
  assert.deepEqual(marksOf('a.c', false)?.('abc a.c'), [
    { text: 'abc ', hit: false },
    { text: 'a.c', hit: true },
  ])
})
