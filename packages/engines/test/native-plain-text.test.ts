import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlainText } from '../src/native/plain-text.ts'

/** What it promises: JSON takes each line as it is. */
const asJson = (bytes: Buffer) =>
  bytes
    .toString('latin1')
    .split('\n')
    .every((line) => JSON.stringify(line).length === line.length + 2)

test('each byte, at each place of a word and behind the last, is plain when JSON takes it as it is', () => {
  for (let byte = 0; byte < 0x80; byte += 1)
    for (let place = 0; place < 11; place += 1)
      for (const around of [' ', '~', '\n', '\x7f']) {
        const bytes = Buffer.from(around.repeat(11))
        bytes[place] = byte
        assert.equal(isPlainText(bytes), asJson(bytes), `${byte} at ${place} among ${JSON.stringify(around)}`)
      }
})

test('well-formed UTF-8 is plain, other bytes are not', () => {
  assert.equal(isPlainText(Buffer.from('Grüße, 你好, 🙂\n')), true)
  for (const bytes of [[0xff], [0xc3], [0x80, 0x41], [0xf0, 0x9f, 0x99]])
    assert.equal(isPlainText(Buffer.from([0x61, ...bytes])), false)
})

test('bytes that begin anywhere in memory are looked at to the last', () => {
  const memory = Buffer.from(`${'a'.repeat(40)}\t`)
  for (let from = 0; from <= 40; from += 1) assert.equal(isPlainText(memory.subarray(from)), false, String(from))
  for (let from = 0; from < 40; from += 1) assert.equal(isPlainText(memory.subarray(from, 40)), true, String(from))
})
