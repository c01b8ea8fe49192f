import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogBuffer, type LogEntry } from '../src/lib/log-buffer.ts'
import { completeFrom, notHeld } from '../src/lib/older-lines.ts'

function line(second: number, text: string, workload = 'web'): LogEntry {
  const time = `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
  return { workload, time, stream: 'stdout', text, cursor: `${workload} ${second} ${text}` }
}
const wrong = (second: number, text: string): LogEntry => ({ ...line(second, text), stream: 'stderr' })

test('a view is complete from the oldest line of the workload that was cut last, or from the beginning', () => {
  const held = [line(1, 'a', 'db'), line(5, 'b'), line(6, 'c', 'worker'), line(7, 'd'), line(8, 'e', 'worker')]
  assert.equal(completeFrom(held, 2), line(6, '').time)
  assert.equal(completeFrom(held, 3), null)
  assert.equal(completeFrom([], 1), null)
})

test('of a page that overlaps what is held, the rest is new; equal lines of one moment count as often as they are there', () => {
  const held = [line(4, 'tick'), line(4, 'tick'), line(5, 'end')]
  const page = [line(2, 'one'), line(4, 'other'), line(4, 'tick'), line(4, 'tick'), line(4, 'tick')]
  assert.deepEqual(
    notHeld(page, held).map(({ text }) => text),
    ['one', 'other', 'tick'],
  )
  assert.deepEqual(notHeld(held, held), [])
  assert.deepEqual(notHeld([], held), [])
})

test('older lines stand where their time says, also between those of another workload, and pass the filter', () => {
  const buffer = new LogBuffer()
  buffer.append([line(1, 'db up', 'db'), wrong(9, 'web nine')])
  buffer.setFilter({ errorsOnly: true })
  buffer.merge([wrong(3, 'web three'), line(4, 'other')])
  assert.deepEqual(
    buffer.lines.map(({ text }) => text),
    ['db up', 'web three', 'other', 'web nine'],
  )
  assert.deepEqual(
    buffer.shown.map(({ text }) => text),
    ['web three', 'web nine'],
  )
})
