import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesOf } from '../src/lib/settings-changes.ts'

const stored = {
  enabled: true,
  port: 3000,
  command: null,
  devServer: { enabled: false, port: 5173 },
  ini: { a: '1', b: '2' },
}

test('a form that says nothing new changes nothing', () => {
  assert.equal(changesOf(stored, structuredClone(stored)), null)
})

test('only what was changed is sent, also inside of objects', () => {
  const form = { ...stored, port: 4000, devServer: { enabled: true, port: 5173 } }
  assert.deepEqual(changesOf(stored, form), { port: 4000, devServer: { enabled: true } })
})

test('lists are sent whole', () => {
  assert.deepEqual(changesOf({ command: ['a', 'b'] }, { command: ['a', 'c'] }), { command: ['a', 'c'] })
  assert.deepEqual(changesOf(stored, { ...stored, command: ['npm', 'start'] }), { command: ['npm', 'start'] })
})

test('an entry that was removed from a map is sent as null, which removes it', () => {
  assert.deepEqual(changesOf(stored, { ...stored, ini: { a: '1' } }), { ini: { b: null } })
})

test('a value that became null is a change', () => {
  assert.deepEqual(changesOf({ script: 'dev' }, { script: null }), { script: null })
})

test('a secret is only sent when something was typed or it is taken away', () => {
  const server = { host: 'cache', hasPassword: true }
  assert.equal(changesOf({ server }, { server: { ...server, password: undefined } }), null)
  assert.deepEqual(changesOf({ server }, { server: { ...server, password: 'new' } }), { server: { password: 'new' } })
  assert.deepEqual(changesOf({ server }, { server: { ...server, password: null } }), { server: { password: null } })
})

test('a group that was null is sent whole, and one that becomes null as null', () => {
  const server = { host: 'cache', port: 6379 }
  assert.deepEqual(changesOf({ server: null }, { server }), { server })
  assert.deepEqual(changesOf({ server }, { server: null }), { server: null })
})
