import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCovered } from '../src/lib/address-list.ts'

test('an address is in a list that has it, or a block around it', () => {
  for (const [range, address, covered] of [
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['192.0.2.0/25', '192.0.2.127', true],
    ['192.0.2.0/25', '192.0.2.128', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['::/0', '2001:db8::1', true],
    ['::/0', '192.0.2.7', false],
    ['192.0.2.0/24', '::ffff:192.0.2.7', true],
    ['::ffff:192.0.2.0/120', '192.0.2.7', true],
    ['::ffff:192.0.2.0/120', '192.0.3.7', false],
  ] as const)
    assert.equal(isCovered([range], address), covered, `${range} and ${address}`)
  assert.equal(isCovered(['198.51.100.0/24', '192.0.2.7'], '192.0.2.7'), true)
})

test('what cannot be read gives no answer: the warning it is for would be a guess', () => {
  for (const range of [
    '300.1.1.1',
    'example.org',
    '192.0.2.0/33',
    '2001:db8::/129',
    '1.2.3',
    ':::',
    '::ffff:192.0.2.0/90',
  ])
    assert.equal(isCovered([range], '192.0.2.7'), null, range)
  assert.equal(isCovered(['192.0.2.7'], ''), null)
})
