import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HostTable } from '../src/host-table.ts'

test('a table of names finds what a map finds, however many there are', () => {
  for (const count of [0, 1, 2, 3, 7, 8, 1_000, 20_000]) {
    const entries = Array.from({ length: count }, (_, index) => [`project-${index % 15_000}.localhost`, index] as const)
    const table = new HostTable(entries)
    const map = new Map<string, number>(entries)
    for (let index = -5; index < count + 5; index += 1) {
      const name = `project-${index}.localhost`
      assert.equal(table.get(name), map.get(name), name)
    }
    assert.equal(table.get(''), undefined)
    assert.equal(table.get('__proto__'), undefined)
  }
})
