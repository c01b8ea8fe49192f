import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAddon } from '../../../packages/domain/src/read-addon.ts'
import { addonExample } from '../src/lib/addon-example.ts'
import { type AddonUse, holdersOf, lateOf } from '../src/lib/addons.ts'

const use = (slug: string, rest: Partial<AddonUse>): AddonUse => ({
  ...{ project: `id-of-${slug}`, slug, enabled: false, hasData: false, outdated: false },
  ...rest,
})

test('the example is a file that the service takes', () => {
  const read = readAddon(addonExample)
  assert.ok(read.ok, JSON.stringify(read))
  assert.equal(read.definition.name, 'broker')
})

test('who has it or keeps data of it stands against its removal; who had it once does not', () => {
  const uses = [use('shop', { enabled: true }), use('blog', { hasData: true }), use('past', {})]
  assert.deepEqual(
    holdersOf(uses).map(({ slug }) => slug),
    ['shop', 'blog'],
  )
})

test('who goes on with an earlier definition is named', () => {
  assert.deepEqual(lateOf([use('shop', { enabled: true, outdated: true }), use('blog', { enabled: true })]), ['shop'])
})
