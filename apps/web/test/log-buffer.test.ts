import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogBuffer, type LogEntry } from '../src/lib/log-buffer.ts'

function line(text: string, stream: LogEntry['stream'] = 'stdout'): LogEntry {
  return { workload: 'node', time: '2026-03-01T12:00:00.000Z', stream, text, cursor: text }
}
const many = (count: number, from = 0) => Array.from({ length: count }, (_, index) => line(`line ${from + index}`))

test('lines that come later pass through the filter that is set', () => {
  const buffer = new LogBuffer()
  buffer.append([line('GET /'), line('boom', 'stderr')])
  buffer.setFilter({ errorsOnly: true })
  assert.deepEqual(
    buffer.shown.map((item) => item.text),
    ['boom'],
  )
  buffer.append([line('GET /api'), line('crash', 'stderr')])
  assert.deepEqual(
    buffer.shown.map((item) => item.text),
    ['boom', 'crash'],
  )
  buffer.setFilter({ errorsOnly: false })
  assert.equal(buffer.shown.length, 4)
})

test('a full buffer drops its oldest lines and says how many', () => {
  const buffer = new LogBuffer(1000)
  buffer.append(many(1000))
  assert.equal(buffer.dropped, 0)
  buffer.append(many(1, 1000))
  assert.equal(buffer.lines.length, 900)
  assert.equal(buffer.dropped, 101)
  assert.equal(buffer.lines[0]?.text, 'line 101')
  assert.equal(buffer.lines.at(-1)?.text, 'line 1000')
  assert.equal(buffer.shown.length, 900)
})

test('half a million lines in batches are appended in well under a second', () => {
  const buffer = new LogBuffer()
  const batch = many(1000)
  const started = performance.now()
  for (let turn = 0; turn < 500; turn += 1) buffer.append(batch)
  assert.equal(buffer.lines.length, 500_000)
  assert.ok(performance.now() - started < 1000)
})
