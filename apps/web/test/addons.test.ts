import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddonUse, holdersOf, lateOf } from '../src/lib/addons.ts'

const use = (slug: string, rest: Partial<AddonUse>): AddonUse => ({
  ...{ project: `id-of-${slug}`, slug, enabled: false, hasData: false, outdated: false },
  ...rest,
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
