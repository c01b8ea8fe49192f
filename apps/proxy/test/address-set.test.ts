import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import { addressSet } from '../src/address-set.ts'

test('addresses are in the blocks that hold them, however they are written', () => {
  const set = addressSet(['192.0.2.0/24', '10.0.0.0/8', '203.0.113.7', '2001:db8::/32', '::1'])
  for (const address of [
    '192.0.2.0',
    '192.0.2.255',
    '10.255.0.1',
    '203.0.113.7',
    '::ffff:10.0.0.1',
    '2001:DB8:ffff::1',
    '::1',
    '0:0::0:1',
  ])
    assert.ok(set.has(address), address)
  for (const address of [
    '192.0.3.0',
    '11.0.0.0',
    '203.0.113.8',
    '2001:db9::1',
    '::2',
    'x',
    '',
    '10.0.0.1.',
    '010.0.0.1',
    'fe80::1%eth0',
    '::ffff:11.0.0.1',
  ])
    assert.ok(!set.has(address), address)
  assert.ok(addressSet(['0.0.0.0/0']).has('255.255.255.255'))
  assert.ok(!addressSet(['0.0.0.0/0']).has('::1'))
  assert.ok(addressSet(['::/0']).has('::1'))
  for (const none of [
    'nobody',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/x',
    '10.0.0.0/8/8',
    '::1/129',
    'fe80::1%eth0',
    '',
  ])
    assert.throws(() => addressSet([none]), TypeError, none)
})

test('a thousand random blocks hold what Node’s own list says they hold', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  const address4 = () => [random(4) + 10, random(4), random(256), random(256)].join('.')
  const address6 = () =>
    `2001:db8:${random(4).toString(16)}:${random(65_536).toString(16)}::${random(65_536).toString(16)}`
  const list = new BlockList()
  const blocks = Array.from({ length: 1000 }, (_, index) => {
    const isFour = index % 2 === 0
    const address = isFour ? address4() : address6()
    const prefix = isFour ? 8 + random(25) : 32 + random(97)
    list.addSubnet(address, prefix, isFour ? 'ipv4' : 'ipv6')
    return `${address}/${prefix}`
  })
  const set = addressSet(blocks.slice(0, 1000))
  for (let index = 0; index < 2000; index += 1) {
    const isFour = index % 2 === 0
    const address = isFour ? address4() : address6()
    assert.equal(set.has(address), list.check(address, isFour ? 'ipv4' : 'ipv6'), address)
  }
})
