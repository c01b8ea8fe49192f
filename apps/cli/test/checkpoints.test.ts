import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Checkpoint } from '@stackquay/contract'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, standIn, step } from './stand-in.ts'

const path = '/projects/shop/checkpoints'
const checkpoint: Checkpoint = {
  id: 'chk_01m7x1001nzn07vcmqy9nx',
  name: 'before upgrade',
  source: 'manual',
  parts: [
    { name: 'source', method: 'copy', bytes: 1_000_000 },
    { name: 'postgresql-main', method: 'copy-on-write', bytes: 2_000_000_000 },
  ],
  bytes: 2_001_000_000,
  milliseconds: 180,
  warnings: ['There is no source folder /srv/shop.'],
  createdAt: '2026-01-01T00:00:00Z',
}
const ended = operation({ state: 'succeeded', steps: [step('keep', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const answers = {
  'GET /operations/op_1': () => ended,
  [`GET ${path}`]: () => ({ items: [checkpoint] }),
}

test('against a stand-in: a checkpoint is made by two words, and what it is without is told', async () => {
  await using service = await standIn({ ...answers, [`POST ${path}`]: () => operation() })
  const { code, stdout, stderr } = await stq(['checkpoint', 'shop', 'before upgrade'], { url: service.url })
  assert.deepEqual([code, stdout], [0, `${checkpoint.id}\n`], stderr)
  assert.match(stderr, /There is no source folder[\s\S]*2\.0 GB in 180 ms, 1\.0 MB of it copied/)
  const list = await stq(['checkpoint', 'list', 'shop'], { url: service.url })
  assert.match(list.stdout, /^CHECKPOINT +MADE +SIZE +HOLDS +ID\nbefore upgrade .*source, postgresql-main/)
})

test('against a stand-in: a restore shows its plan, needs the slug, and is found by name or id', async () => {
  await using service = await standIn({
    ...answers,
    'GET /projects/shop': (_call, response) => {
      response.setHeader('etag', '"7"')
      return { slug: 'shop' }
    },
    [`POST ${path}/${checkpoint.id}/restore`]: ({ query }) => (query.has('dryRun') ? { plan: emptyPlan } : operation()),
    [`DELETE ${path}/${checkpoint.id}`]: (_call, response) => void response.writeHead(204).end(),
  })
  const options = { url: service.url }
  const unconfirmed = await stq(['checkpoint', 'restore', 'shop', 'before upgrade'], options)
  assert.notEqual(unconfirmed.code, 0)
  assert.ok(service.calls.every(({ method }) => method === 'GET'))
  for (const wanted of [checkpoint.name, checkpoint.id]) {
    const { code, stderr } = await stq(['checkpoint', 'restore', 'shop', wanted, '--confirm', 'shop'], options)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /shop is as it was/)
  }
  const unknown = await stq(['checkpoint', 'restore', 'shop', 'other', '--confirm', 'shop'], options)
  assert.match(unknown.stderr, /There is no checkpoint "other" of shop[\s\S]*stq checkpoint list shop/)
  const removed = await stq(['checkpoint', 'delete', 'shop', 'before upgrade', '--yes'], options)
  assert.equal(removed.code, 0, removed.stderr)
})
