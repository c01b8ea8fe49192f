import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enteredAgain, readEnterSearch } from '../src/lib/enter.ts'

test('a browser that is sent to and fro is stopped, and one that opens a page now and then is not', () => {
  const kept = new Map<string, string>()
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  }
  const at = (host: string, seconds: number) => enteredAgain(storage, host, seconds * 1_000)
  assert.deepEqual(
    [1_000, 1_001, 1_002, 1_003, 1_004].map((second) => at('a', second)),
    [false, false, false, true, true],
  )
  assert.equal(at('b', 1_004), false)
  assert.equal(at('a', 1_040), false)
  for (const second of [2_000, 2_020, 2_040, 2_060, 2_080]) assert.equal(at('c', second), false)
  kept.set('stackquay.enter.d', 'nonsense')
  assert.equal(at('d', 1), false)
})

test('only what the proxy says is taken from the address', () => {
  assert.deepEqual(readEnterSearch({ host: 'a--b.localhost', path: '/x?y=1', secure: 'true', more: 1 }), {
    host: 'a--b.localhost',
    path: '/x?y=1',
    secure: true,
  })
  assert.deepEqual(readEnterSearch({ host: 1, path: 'https://evil.example', secure: 'false' }), {})
  assert.deepEqual(readEnterSearch({ host: 'a'.repeat(300), path: `/${'a'.repeat(3_000)}` }), {})
})
