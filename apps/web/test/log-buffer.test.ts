import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asText, cutAt, LogBuffer, type LogEntry } from '../src/lib/log-buffer.ts'

function line(text: string, stream: LogEntry['stream'] = 'stdout'): LogEntry {
  return { workload: 'node', time: '2026-03-01T12:00:00.000Z', stream, text, cursor: text }
}
const many = (count: number, from = 0) => Array.from({ length: count }, (_, index) => line(`line ${from + index}`))

test('lines that come later pass through the filter that is set', () => {
  const buffer = new LogBuffer()
  buffer.append([line('GET /'), line('boom', 'stderr')])
  buffer.setFilter({ text: 'get', errorsOnly: false })
  assert.deepEqual(
    buffer.shown.map((item) => item.text),
    ['GET /'],
  )
  buffer.append([line('GET /api'), line('POST /')])
  assert.deepEqual(
    buffer.shown.map((item) => item.text),
    ['GET /', 'GET /api'],
  )
  buffer.setFilter({ text: '', errorsOnly: true })
  assert.deepEqual(
    buffer.shown.map((item) => item.text),
    ['boom'],
  )
  buffer.setFilter({ text: '', errorsOnly: false })
  assert.equal(buffer.shown.length, 4)
})

test('a search does not see colours', () => {
  const buffer = new LogBuffer()
  buffer.append([line('\u001b[31mre\u001b[0mady')])
  buffer.setFilter({ text: 'ready', errorsOnly: false })
  assert.equal(buffer.shown.length, 1)
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

test('a text is cut at every hit, whatever the case, and nothing of it is lost', () => {
  assert.deepEqual(cutAt('Error: error', 'error'), [
    { text: 'Error', hit: true },
    { text: ': ', hit: false },
    { text: 'error', hit: true },
  ])
  assert.deepEqual(cutAt('fine', 'error'), [{ text: 'fine', hit: false }])
})

test('a downloaded line says when, who and what, without colours', () => {
  assert.equal(asText([line('\u001b[1mup\u001b[0m')]), '2026-03-01T12:00:00.000Z node stdout up\n')
})
