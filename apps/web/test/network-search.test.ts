import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@stackquay/contract'
import { readNetworkSearch, trafficRanges } from '../src/lib/network-search.ts'

test('the address of a view is read back, and what is not understood is left out', () => {
  assert.deepEqual(readNetworkSearch({ view: 'traffic', range: '7d', status: 404, q: 'admin' }), {
    view: 'traffic',
    range: '7d',
    status: '404',
    q: 'admin',
  })
  assert.deepEqual(readNetworkSearch({ view: 'traffic', range: 'toString', status: '6xx', q: '' }), { view: 'traffic' })
  assert.deepEqual(readNetworkSearch({ view: 'rules', range: '7d' }), { view: 'rules' })
  assert.deepEqual(readNetworkSearch({ view: 'domains' }), {})
  assert.deepEqual(readNetworkSearch({ view: 'elsewhere', q: 'x' }), {})
})

test('every range that is offered is one that the service takes', () => {
  for (const range of Object.keys(trafficRanges))
    assert.equal(operations.getTraffic.query.safeParse({ range }).success, true, range)
})
