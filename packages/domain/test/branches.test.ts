import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serviceTypes } from '@stackquay/catalog'
import { branchFate, branchSlugs, goneSince, mergeBranches, withEnvironments } from '../src/index.ts'

/** As its caller chooses: the first that is free. */
const chosen = (branches: readonly string[], project: string) => {
  const taken = new Set<string>()
  for (const branch of branches) {
    const slug = branchSlugs(branch, project).find((one) => !taken.has(one))
    assert.ok(slug !== undefined, branch)
    taken.add(slug)
  }
  return [...taken]
}

describe('slugs of branch environments', () => {
  it('are the branch as it reads', () => {
    assert.equal(branchSlugs('feature-x', 'shop')[0], 'feature-x--shop')
    assert.equal(branchSlugs('Feature/Größe_2', 'shop')[0], 'feature-grosse-2--shop')
  })

  it('fit into a DNS label with -dev, are valid, and are never the same, whatever branches are called', () => {
    const long = 'x'.repeat(200)
    const hostile = [
      'feature/x',
      'feature-x',
      'FEATURE/X',
      'feature_x',
      '日本',
      '日',
      '!!!',
      '--',
      'a..b',
      `${long}1`,
      `${long}2`,
    ]
    const many = Array.from({ length: 2000 }, (_, n) => `${long}/${n}`)
    for (const project of ['s', 'shop', 'a'.repeat(40)]) {
      const slugs = chosen([...hostile, ...many], project)
      assert.equal(slugs.length, hostile.length + many.length)
      for (const slug of slugs) {
        assert.match(slug, /^[a-z0-9]([a-z0-9]|-(?!-))*[a-z0-9]--[a-z0-9-]+$/)
        assert.ok(`${slug}-dev`.length <= 63, slug)
      }
    }
  })

  it('are never the address of a service, nor of the form that names in other scripts have', () => {
    for (const { name } of serviceTypes) assert.ok(!branchSlugs(name, 'shop').includes(`${name}--shop`), name)
    for (const name of ['adminer', 'mq'])
      assert.ok(!branchSlugs(name, 'shop', ['adminer', 'mq']).includes(`${name}--shop`), name)
    assert.match(branchSlugs('adminer', 'shop', ['adminer'])[0]!, /^adminer-[0-9a-f]{8}--shop$/)
    for (const name of ['xn', 'ab']) assert.match(branchSlugs(name, 'shop')[0]!, /^(xn|ab)-[0-9a-f]{8}--shop$/)
  })

  it('are another for a branch whose name is the hashed one of another', () => {
    const [, hashed = ''] = branchSlugs('feature/x', 'shop')
    assert.equal(chosen(['feature-x', 'feature/x', hashed.replace('--shop', '')], 'shop').length, 3)
  })
})

describe('when environments go', () => {
  const now = new Date('2026-03-10T12:00:00Z')
  const goneAt = '2026-03-03T12:00:00.000Z'

  it('after their days, and never with what is nowhere else', () => {
    assert.equal(branchFate({ goneAt: null, unsaved: false }, 7, now).act, 'keep')
    assert.equal(branchFate({ goneAt, unsaved: false }, 8, now).act, 'keep')
    assert.deepEqual(branchFate({ goneAt, unsaved: false }, 7, now), { act: 'remove', at: now.toISOString() })
    assert.equal(branchFate({ goneAt, unsaved: true }, 7, now).act, 'tell')
    assert.equal(branchFate({ goneAt, unsaved: null }, 7, now).act, 'tell')
  })

  it('counts from the first look that missed the branch; what never was there is not gone', () => {
    assert.equal(goneSince({ seenCommit: null, goneAt: null }, null, now).goneAt, null)
    const first = goneSince({ seenCommit: 'a', goneAt: null }, null, now)
    assert.deepEqual(first, { seenCommit: 'a', goneAt: now.toISOString() })
    assert.equal(goneSince({ seenCommit: 'a', goneAt }, null, now).goneAt, goneAt)
    assert.deepEqual(goneSince({ seenCommit: 'a', goneAt }, 'b', now), { seenCommit: 'b', goneAt: null })
  })
})

it('settings take defaults for what was never said, and keep what is not sent', () => {
  const first = mergeBranches(undefined, { branches: { max: 2 } })
  assert.deepEqual(first, { secrets: 'none', databases: 'clone', max: 2, keepDays: 7, pullRequests: false })
  assert.equal(mergeBranches(first, { branches: { keepDays: 1 } })?.max, 2)
  assert.equal(mergeBranches(first, {}), first)
  assert.equal(mergeBranches(first, { branches: null }), undefined)
})

it('a restriction to a project reaches its environments, and never the other way round', () => {
  const environments = [
    { project: 'prj_env', of: 'prj_shop' },
    { project: 'prj_other_env', of: 'prj_other' },
  ]
  assert.deepEqual(withEnvironments(['prj_shop'], environments), ['prj_shop', 'prj_env'])
  assert.deepEqual(withEnvironments(['prj_env'], environments), ['prj_env'])
  assert.deepEqual(withEnvironments(['prj_shop', 'prj_env'], environments), ['prj_shop', 'prj_env'])
  // No restriction stays none: a list would be one.
  assert.deepEqual(withEnvironments([], environments), [])
})
