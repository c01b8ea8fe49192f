import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cut, jsonAnswer, mostCharacters } from '../src/output.ts'
import { createPlans, type Plan, planMs } from '../src/plans.ts'

const planOf = (caller: string, body: unknown = undefined): Plan => ({
  caller,
  tool: 'delete_project',
  title: 'Delete a project: shop',
  request: { operation: 'deleteProject', params: { id: 'prj_1' }, query: {}, body },
  project: { ref: 'prj_1', etag: '3' },
})

test('a plan is carried out once, by whoever made it, within five minutes', () => {
  let now = 0
  const plans = createPlans(() => now)
  const { id, expiresAt } = plans.add(planOf('tok_a'))
  assert.match(id, /^plan_[\w-]{22}$/)
  assert.equal(expiresAt, new Date(planMs).toISOString())
  assert.equal(plans.take(id, 'tok_b'), 'plan_unknown', 'of somebody else')
  assert.deepEqual(plans.look(id, 'tok_a'), plans.look(id, 'tok_a'), 'looking takes nothing')
  assert.equal((plans.take(id, 'tok_a') as Plan).tool, 'delete_project')
  assert.equal(plans.take(id, 'tok_a'), 'plan_unknown', 'once')
  const late = plans.add(planOf('tok_a')).id
  now = planMs
  assert.equal(plans.take(late, 'tok_a'), 'plan_expired')
  assert.equal(plans.take(late, 'tok_a'), 'plan_unknown')
  assert.equal(plans.take('plan_', 'tok_a'), 'plan_unknown')
})

test('a caller with many plans loses its oldest, and nobody else’s', () => {
  const plans = createPlans(() => 0)
  const others = plans.add(planOf('tok_b')).id
  const mine = Array.from({ length: 21 }, () => plans.add(planOf('tok_a')).id)
  assert.equal(plans.look(mine[0]!, 'tok_a'), 'plan_unknown')
  assert.equal(typeof plans.look(mine[1]!, 'tok_a'), 'object')
  assert.equal(typeof plans.look(others, 'tok_b'), 'object')
})

test('what plans hold of memory has an end', () => {
  const plans = createPlans(() => 0)
  const ids = Array.from({ length: 30 }, (_, at) => plans.add(planOf(`tok_${at}`, 'x'.repeat(1 << 20))).id)
  const held = ids.filter((id, at) => typeof plans.look(id, `tok_${at}`) === 'object')
  assert.ok(held.length > 10 && held.length <= 16, String(held.length))
})

test('an answer is cut where it is too long, says so, and never within a character', () => {
  assert.equal(cut('short'), 'short')
  for (const shift of ['', 'x']) {
    const text = cut(shift + '😀'.repeat(20_000))
    assert.ok(text.length <= mostCharacters)
    assert.match(text, /… cut: \d+ of 4000\d characters\. Ask for less/)
    assert.doesNotMatch(text, /[\ud800-\udbff](?![\udc00-\udfff])/)
  }
  const { content } = jsonAnswer({ a: null, b: [{ c: null, d: 1 }], e: undefined })
  assert.equal(content[0]?.text, '{"b":[{"d":1}]}')
})
