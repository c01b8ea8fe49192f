import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isEnvName, parseDotEnv } from '../src/lib/env-names.ts'

test('names follow the rule of the contract', () => {
  for (const name of ['A', '_a', 'DATABASE_URL', 'a1']) assert.ok(isEnvName(name), name)
  for (const name of ['', '1A', 'A-B', 'A B', 'Ä', 'A'.repeat(129)]) assert.ok(!isEnvName(name), name)
})

test('a .env file is read as people write it, and nothing in it is replaced', () => {
  const { variables, ignored } = parseDotEnv(
    [
      '# comment=no',
      'export A=1',
      'B = two words # comment',
      "C='$A # stays'",
      'D="line\\none"',
      'E=',
      'F=a#b',
      'no variable',
    ].join('\r\n'),
  )
  assert.deepEqual(variables, [
    { name: 'A', value: '1' },
    { name: 'B', value: 'two words' },
    { name: 'C', value: '$A # stays' },
    { name: 'D', value: 'line\none' },
    { name: 'E', value: '' },
    { name: 'F', value: 'a#b' },
  ])
  assert.deepEqual(ignored, ['no variable'])
})

test('a quoted value may have several lines', () => {
  const { variables } = parseDotEnv('KEY="-----BEGIN\nabc\n-----END"\nNEXT=1')
  assert.deepEqual(variables, [
    { name: 'KEY', value: '-----BEGIN\nabc\n-----END' },
    { name: 'NEXT', value: '1' },
  ])
})
