import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slugPattern } from '@stackquay/contract'
import { nearestName, slugOf } from '../src/names.ts'

test('a slug keeps letters and digits, and whatever stands between becomes one hyphen', () => {
  assert.equal(slugOf('My Shop!'), 'my-shop')
  assert.equal(slugOf('  --a__b..c--  '), 'a-b-c')
  assert.equal(slugOf('Crème Brûlée 2'), 'creme-brulee-2')
  assert.equal(slugOf('Straße Łódź Ærø'), 'strasse-lodz-aero')
})

test('a name without a letter that fits gives no slug', () => {
  assert.equal(slugOf('商店'), '')
  assert.equal(slugOf('---'), '')
})

test('a slug is valid or empty, whatever the name', () => {
  const names = [
    'x'.repeat(60),
    `${'x'.repeat(39)}-y`,
    'ﬁne',
    'a\u0301\u0302',
    '𝒜bc',
    '-a',
    'a-',
    'İstanbul',
    '½ price',
  ]
  for (const name of names) assert.match(slugOf(name), slugPattern, name)
})

test('the nearest name is found through a letter too many, too few, wrong, swapped, or in another case', () => {
  const known = ['exposePort', 'version', 'enabled', 'port']
  assert.equal(nearestName('exposePrt', known), 'exposePort')
  assert.equal(nearestName('verssion', known), 'version')
  assert.equal(nearestName('enebled', known), 'enabled')
  assert.equal(nearestName('prot', known), 'port')
  assert.equal(nearestName('EXPOSEPORT', known), 'exposePort')
})

test('a word that is no slip of a known one has no nearest name', () => {
  assert.equal(nearestName('banana', ['version', 'enabled']), undefined)
  assert.equal(nearestName('b', ['a']), undefined)
  assert.equal(nearestName('', ['a']), undefined)
  assert.equal(nearestName('x'.repeat(100_000), ['version']), undefined)
})

test('of equally near names the first one wins', () => {
  assert.equal(nearestName('cat', ['bat', 'hat']), 'bat')
})
