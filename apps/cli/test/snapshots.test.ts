import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Snapshot } from '@stackquay/contract'
import { stq } from './run-stq.ts'
import { emptyPlan, operation, standIn, step } from './stand-in.ts'

const path = '/projects/shop/databases/main'
const snapshot: Snapshot = {
  id: 'snp_01m7x1001nzn07vcmqy9nx',
  database: 'main',
  name: 'before-the-upgrade',
  source: 'manual',
  type: 'postgresql',
  version: '18',
  method: 'copy-on-write',
  bytes: 2_000_000_000,
  milliseconds: 180,
  createdAt: '2026-01-01T00:00:00Z',
}
const ended = operation({ state: 'succeeded', steps: [step('copy', 'succeeded')], finishedAt: '2026-01-01T00:00:04Z' })
const answers = {
  'GET /projects/shop/databases': () => ({ items: [{ name: 'main', type: 'postgresql', version: '18', hostPort: 1 }] }),
  'GET /operations/op_1': () => ended,
  [`GET ${path}/snapshots`]: () => ({ items: [snapshot] }),
}

test('against a stand-in: a snapshot is made, and how is told', async () => {
  await using service = await standIn({ ...answers, [`POST ${path}/snapshots`]: () => operation() })
  const { code, stdout, stderr } = await stq(['db', 'snapshot', 'create', 'shop', '--as', snapshot.name], {
    url: service.url,
  })
  assert.deepEqual([code, stdout], [0, 'before-the-upgrade\n'], stderr)
  assert.match(stderr, /in 180 ms, copy-on-write: it takes no room/)
  const list = await stq(['db', 'snapshot', 'list', 'shop', 'main'], { url: service.url })
  assert.match(list.stdout, /^SNAPSHOT +MADE +SIZE +METHOD +ID\nbefore-the-upgrade /)
})

test('against a stand-in: a restore shows its plan, needs the name, and is about the project as it was read', async () => {
  await using service = await standIn({
    ...answers,
    'GET /projects/shop': (_call, response) => {
      response.setHeader('etag', '"7"')
      return { slug: 'shop' }
    },
    [`POST ${path}/snapshots/first/restore`]: ({ query }) => (query.has('dryRun') ? { plan: emptyPlan } : operation()),
  })
  const options = { url: service.url }
  const unconfirmed = await stq(['db', 'snapshot', 'restore', 'shop', 'main', 'first'], options)
  assert.notEqual(unconfirmed.code, 0)
  assert.equal(service.calls.length, 0)
  const words = ['db', 'snapshot', 'restore', 'shop', 'main', 'first', '--confirm', 'main']
  const { code, stderr } = await stq(words, options)
  assert.equal(code, 0, stderr)
  assert.match(stderr, /main is as it was/)
})

test('against a stand-in: a clone is added, a snapshot removed', async () => {
  await using service = await standIn({
    ...answers,
    [`POST ${path}/clone`]: () => operation(),
    [`DELETE ${path}/snapshots/first`]: (_call, response) => void response.writeHead(204).end(),
  })
  const options = { url: service.url }
  const cloned = await stq(['db', 'clone', 'shop', 'main', 'twin', '--snapshot', 'first'], options)
  assert.equal(cloned.code, 0, cloned.stderr)
  assert.match(cloned.stderr, /twin is a copy of main/)
  const removed = await stq(['db', 'snapshot', 'rm', 'shop', 'main', 'first', '--yes'], options)
  assert.equal(removed.code, 0, removed.stderr)
})

const shop = {
  'GET /projects/shop': (_call: unknown, response: { setHeader(name: string, value: string): void }) => {
    response.setHeader('etag', '"7"')
    return { slug: 'shop' }
  },
}

test('against a stand-in: a reset shows its plan, and needs the name', async () => {
  await using service = await standIn({
    ...answers,
    ...shop,
    [`POST ${path}/reset`]: ({ query }) => (query.has('dryRun') ? { plan: emptyPlan } : operation()),
  })
  const options = { url: service.url }
  assert.notEqual((await stq(['db', 'reset', 'shop', 'main'], options)).code, 0)
  const { code, stderr } = await stq(['db', 'reset', 'shop', '--confirm', 'main'], options)
  assert.equal(code, 0, stderr)
  assert.match(stderr, /main of shop begins anew/)
  const [asked] = service.calls.filter(({ path: to, query }) => to.endsWith('/reset') && !query.has('dryRun'))
  assert.deepEqual(asked?.body, { confirm: 'main' })
})

test('against a stand-in: a pull names its parts, needs the slug, and refuses what is no part before anything is asked', async () => {
  await using service = await standIn({
    ...answers,
    ...shop,
    'POST /projects/shop/pull': ({ query }) => (query.has('dryRun') ? { plan: emptyPlan } : operation()),
  })
  const options = { url: service.url }
  const wrong = await stq(['pull', 'shop', 'production', '--only', 'main', '--confirm', 'shop'], options)
  assert.match(wrong.stderr, /"main" is no part/)
  assert.equal(service.calls.length, 0)
  assert.notEqual((await stq(['pull', 'shop', 'production', '--confirm', 'other'], options)).code, 0)
  const words = ['pull', 'shop', 'production', '--only', 'db:main', 'files:storage/app', '--confirm', 'shop']
  const { code, stderr } = await stq(words, options)
  assert.equal(code, 0, stderr)
  const [asked] = service.calls.filter(({ path: to, query }) => to.endsWith('/pull') && !query.has('dryRun'))
  assert.deepEqual(asked?.body, {
    source: 'production',
    confirm: 'shop',
    parts: ['database:main', 'files:storage/app'],
  })
})
