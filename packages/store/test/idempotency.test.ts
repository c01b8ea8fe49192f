import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore, type Store } from '../src/index.ts'
import { tempStore } from './temp-store.ts'

const reserve = (store: Store, caller: string, key: string, fingerprint = 'print') =>
  store.transaction((tx) => tx.idempotency.reserve(caller, key, fingerprint))

test('a key is reserved once per caller and then answers what is stored', async (t) => {
  const { store } = await tempStore(t)
  assert.equal(await store.idempotency.find('ada', 'k'), null)
  assert.deepEqual(await reserve(store, 'ada', 'k'), { reserved: true })
  const running = { state: 'running', fingerprint: 'print' }
  assert.deepEqual(await reserve(store, 'ada', 'k', 'other'), { reserved: false, stored: running })
  assert.deepEqual(await reserve(store, 'bob', 'k'), { reserved: true })

  const answer = { status: 201, headers: { etag: '"1"' }, body: '{"id":"é"}' }
  await store.transaction((tx) => tx.idempotency.complete('ada', 'k', answer))
  const done = { state: 'done', fingerprint: 'print', ...answer }
  assert.deepEqual(await store.idempotency.find('ada', 'k'), done)
  assert.deepEqual(await reserve(store, 'ada', 'k'), { reserved: false, stored: done })
  assert.deepEqual(await store.idempotency.find('bob', 'k'), running)
})

test('of many at once exactly one reserves', async (t) => {
  const { store } = await tempStore(t)
  const results = await Promise.all(Array.from({ length: 20 }, () => reserve(store, 'ada', 'k')))
  assert.equal(results.filter((result) => result.reserved).length, 1)
})

test('keys are forgotten when told, by age, and those of a run that ended at the next start', async (t) => {
  const { store, clock, options } = await tempStore(t)
  for (const key of ['failed', 'old', 'running']) await reserve(store, 'ada', key)
  await store.transaction(async (tx) => {
    await tx.idempotency.forget('ada', 'failed')
    await tx.idempotency.complete('ada', 'old', { status: 200, headers: {}, body: '' })
  })
  assert.equal(await store.idempotency.find('ada', 'failed'), null)
  clock.pass(1)
  await reserve(store, 'ada', 'young')
  await store.transaction((tx) => tx.idempotency.complete('ada', 'young', { status: 200, headers: {}, body: '' }))
  await store.close()

  const again = await openStore(options)
  t.after(() => again.close())
  await again.transaction((tx) => tx.idempotency.forgetRunning())
  assert.equal(await again.idempotency.find('ada', 'running'), null)
  assert.equal((await again.idempotency.find('ada', 'old'))?.state, 'done')
  await again.transaction((tx) => tx.idempotency.expire(clock.now().toISOString()))
  assert.equal(await again.idempotency.find('ada', 'old'), null)
  assert.equal((await again.idempotency.find('ada', 'young'))?.state, 'done')
})

test('an answer is kept sealed, also under a new key; one of an earlier version is read as it is', async (t) => {
  const { store, options } = await tempStore(t)
  const answer = { status: 201, headers: {}, body: '{"secret":"whsec_shown_once"}' }
  await reserve(store, 'ada', 'k')
  await store.transaction((tx) => tx.idempotency.complete('ada', 'k', answer))
  const stored = (key: string) => {
    const file = new DatabaseSync(options.file)
    const row = file.prepare('SELECT body FROM idempotency WHERE key = ?').get(key) as { body: string }
    file.close()
    return row.body
  }
  const before = stored('k')
  assert.ok(!before.includes('whsec'))
  await store.replaceKey({ id: 'next', key: Buffer.alloc(32, 7) }, async () => {})
  assert.notEqual(stored('k'), before)
  const done = { state: 'done', fingerprint: 'print', ...answer }
  assert.deepEqual(await store.idempotency.find('ada', 'k'), done)
  assert.deepEqual(await reserve(store, 'ada', 'k'), { reserved: false, stored: done })

  await reserve(store, 'ada', 'old')
  const file = new DatabaseSync(options.file)
  file.exec(`UPDATE idempotency SET status = 200, headers = '{}', body = '{"id":1}' WHERE key = 'old'`)
  file.close()
  assert.equal(((await reserve(store, 'ada', 'old')) as { stored: { body: string } }).stored.body, '{"id":1}')
})
