import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalNames } from '../src/lib/terminal-names.ts'

const opened = (id: string, title: string, minute: number) => ({
  id,
  title,
  createdAt: `2026-03-01T12:0${minute}:00.000Z`,
})

test('terminals of one title are counted in the order they were opened, a single one is not', () => {
  const names = terminalNames([opened('c', 'bash', 3), opened('b', 'node', 2), opened('a', 'bash', 1)])
  assert.deepEqual(Object.fromEntries(names), { a: 'bash 1', b: 'node', c: 'bash 2' })
})
