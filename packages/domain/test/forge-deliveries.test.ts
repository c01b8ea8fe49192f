import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { before, type ForgeDelivery, forgeDeliveries, pullNumber } from '@stackquay/testkit/forge-deliveries'
import { deliveryHead, judgePush, otherRepository, pullRequestOf, pushOf } from '../src/index.ts'

/** What is made of a delivery, in the words of the examples. */
function readOf({ headers, payload }: ForgeDelivery) {
  const head = deliveryHead((name) => headers[name] ?? null)
  assert.ok(head)
  const pull = pullRequestOf(head, payload)
  const push = pushOf(head, payload)
  assert.ok(pull === null || push === null)
  if (pull !== null) {
    assert.equal(pull.number, pullNumber)
    if (pull.act === 'close') return { forge: head.forge, says: { act: 'close' } }
    const { act, branch, head: commit, fork, title, url } = pull
    assert.match(`${title} ${url}`, /^Carts remember what is in them https?:\/\/.+\/12$/)
    return { forge: head.forge, says: { act, branch, head: commit, fork } }
  }
  const verdict = judgePush(head, push, { branch: 'main', current: before })
  if (verdict.act === 'ignore') return { forge: head.forge, says: { act: 'nothing' } }
  return { forge: head.forge, says: { act: 'deploy', commit: verdict.commit } }
}

describe('deliveries as forges document them', () => {
  for (const delivery of forgeDeliveries)
    it(`${delivery.forge}: ${delivery.name}`, () => {
      assert.deepEqual(readOf(delivery), { forge: delivery.forge, says: delivery.says })
    })

  it('each has an id of its own, and one that comes again has the same', () => {
    const ids = forgeDeliveries.map(({ forge, headers }) => {
      const { id } = deliveryHead((name) => headers[name] ?? null)!
      return `${forge} ${id}`
    })
    assert.equal(new Set(ids).size, ids.length)
  })

  it('are of another repository only where the forge is the same and the name is not', () => {
    const of = (forge: ForgeDelivery['forge']) => forgeDeliveries.find((one) => one.forge === forge)!.payload
    for (const [forge, ours, others] of [
      ['github', ['https://github.com/Grace/Shop.git', 'git@github.com:grace/shop'], ['https://github.com/grace/till']],
      [
        'gitlab',
        ['https://gitlab.example.com/stores/shop', 'ssh://git@gitlab.example.com/stores/shop.git'],
        ['https://gitlab.example.com/stores/till.git', 'git@gitlab.example.com:shop.git'],
      ],
      [
        'gitea',
        ['http://git.example.com/sub/grace/shop.git', 'ssh://git@git.example.com:2222/grace/shop.git'],
        ['http://git.example.com:3000/mallory/shop.git', 'http://git.example.com:3000/disgrace/shop'],
      ],
    ] as const) {
      for (const remote of [...ours, 'https://mirror.lan/x/y.git', '/srv/git/y.git', '', null])
        assert.equal(otherRepository(of(forge), remote), null, `${forge} ${remote}`)
      for (const remote of others) assert.match(otherRepository(of(forge), remote) ?? '', /^(grace|stores)\/shop$/)
    }
    for (const payload of [null, 'x', {}, { repository: { full_name: 7 } }, { repository: 'grace/shop' }])
      assert.equal(otherRepository(payload, 'https://github.com/grace/till'), null)
  })
})
