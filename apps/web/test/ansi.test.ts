import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainText, runsOf } from '../src/lib/ansi.ts'

test('colours and weight become runs', () => {
  assert.deepEqual(runsOf('\u001b[1;32mready\u001b[0m in 5 ms'), [
    { text: 'ready', color: 2, bold: true, dim: false },
    { text: ' in 5 ms', color: null, bold: false, dim: false },
  ])
})

test('the numbers of a 256 or true colour are not read as codes of their own', () => {
  assert.deepEqual(runsOf('\u001b[38;5;1mx'), [{ text: 'x', color: null, bold: false, dim: false }])
  assert.deepEqual(runsOf('\u001b[38;2;1;2;31;32my'), [{ text: 'y', color: 2, bold: false, dim: false }])
})

test('cursor movements, titles and links leave no trace', () => {
  assert.equal(
    plainText('\u001b[2K\u001b[1Gdone\u001b]0;title\u0007 \u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\\r'),
    'done link',
  )
})

test('a tab stays a tab', () => {
  assert.equal(plainText('a\tb'), 'a\tb')
})
