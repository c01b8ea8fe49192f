import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freeName, freeSlug, labelOfKey, nameOfSource, slugOf } from '../src/lib/names.ts'

test('a name becomes a slug that the service accepts, or nothing', () => {
  const pattern = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/
  for (const name of ['My Shop!', 'Größe Ñandú', '--a--', `${'x'.repeat(39)} y`]) assert.match(slugOf(name), pattern)
  assert.equal(slugOf('My Shop!'), 'my-shop')
  assert.equal(slugOf('日本'), '')
})

test('the name of a source is the last part of its address', () => {
  assert.equal(nameOfSource('https://example.org/team/shop.git'), 'shop')
  assert.equal(nameOfSource('git@example.org:shop.git'), 'shop')
  assert.equal(nameOfSource('/srv/projects/shop/'), 'shop')
  assert.equal(nameOfSource('https://example.org/shop?ref=main#top'), 'shop')
})

test('a proposed name is one that nobody has', () => {
  assert.equal(freeSlug('shop', []), 'shop')
  assert.equal(freeSlug('Shop', ['shop', 'shop-2']), 'Shop-3')
  assert.equal(freeName('main', ['main']), 'main2')
})

test('keys of settings become labels', () => {
  assert.equal(labelOfKey('packageManager'), 'Package manager')
  assert.equal(labelOfKey('ini'), 'Ini')
})
