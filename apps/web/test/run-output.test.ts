import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunOutput } from '../src/lib/run-output.ts'

const time = Date.parse('2026-03-01T12:00:00.000Z')
const outputOf = (...chunks: readonly (readonly [stream: 'stdout' | 'stderr', text: string])[]) => {
  const output = new RunOutput()
  for (const [stream, text] of chunks) output.append({ stream, time, text })
  return output
}
const textsOf = (output: RunOutput) => output.lines.map((line) => line.text)

test('a line that comes in chunks is one line', () => {
  const output = outputOf(['stdout', 'compi'], ['stdout', 'ling\nli'], ['stdout', 'nking\n'])
  assert.deepEqual(textsOf(output), ['compiling', 'linking'])
})

test('the end of a line that has not come yet is shown all the same', () => {
  assert.deepEqual(textsOf(outputOf(['stdout', 'Continue? '])), ['Continue? '])
})

test('the two streams never mix within a line, and each line knows its own', () => {
  const output = outputOf(['stdout', 'wor'], ['stderr', 'warning\n'], ['stdout', 'king\n'])
  assert.deepEqual(
    output.lines.map((line) => [line.stream, line.text]),
    [
      ['stdout', 'working'],
      ['stderr', 'warning'],
    ],
  )
})

test('a carriage return begins the line again, however it is cut; with a line feed it is the end of a line', () => {
  assert.deepEqual(textsOf(outputOf(['stdout', '10 %\r20 %\r'], ['stdout', '100 %\ndone\r\n'])), ['100 %', 'done'])
  assert.deepEqual(textsOf(outputOf(['stdout', 'done\r'], ['stdout', '\nnext\n'])), ['done', 'next'])
})

test('empty lines stay, and a chunk that ends a line adds none', () => {
  assert.deepEqual(textsOf(outputOf(['stdout', 'a\n\nb\n'])), ['a', '', 'b'])
})

test('full output gives up its oldest lines, says how many, and goes on in the line that is open', () => {
  const output = new RunOutput(100)
  for (let line = 0; line < 101; line += 1) output.append({ stream: 'stdout', time, text: `line ${line}\n` })
  assert.equal(output.lines.length, 90)
  assert.equal(output.dropped, 11)
  assert.equal(output.lines[0]?.text, 'line 11')
  output.append({ stream: 'stderr', time, text: 'op' })
  for (let line = 0; line < 20; line += 1) output.append({ stream: 'stdout', time, text: `more ${line}\n` })
  output.append({ stream: 'stderr', time, text: 'en\n' })
  assert.ok(textsOf(output).includes('open'))
})

test('a line without an end is cut, and what follows is in the next', () => {
  const output = outputOf(['stdout', 'x'.repeat(30_000)], ['stdout', 'y'.repeat(10)])
  assert.equal(output.lines.length, 2)
  assert.ok(output.lines[1]?.text === 'y'.repeat(10))
})
