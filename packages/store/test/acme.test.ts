import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { tempStore } from './temp-store.ts'

const canary = 'order-canary-91ab'
const row = { subject: '*.example.org', attempts: { failures: 2 }, chance: 0.25, renewal: null }

test('attempts are kept for each name; an order is sealed, sealed again by a new key, and goes with its name', async (t) => {
  const { store, file } = await tempStore(t)
  assert.equal(await store.acme.find(row.subject), null)
  await store.transaction(async (tx) => {
    await tx.acme.put({ ...row, chance: 0.5 })
    await tx.acme.put(row)
    await tx.acme.put({ ...row, subject: 'shop.example.org' })
    await tx.acme.putOrder(row.subject, canary)
  })
  assert.deepEqual(await store.acme.find(row.subject), row)
  assert.equal((await store.acme.all()).length, 2)
  for (const part of ['', '-wal']) assert.equal(readFileSync(file + part).includes(canary), false, `in ${file}${part}`)
  const { settled: _, ...counts } = await store.replaceKey({ id: 'key_b', key: randomBytes(32) }, async () => {})
  assert.deepEqual(counts, { resealed: 1, unreadable: 0 })
  assert.equal((await store.acme.order(row.subject))?.expose(), canary)
  await store.transaction((tx) => tx.acme.delete(row.subject))
  assert.equal(await store.acme.order(row.subject), null)
  assert.deepEqual(await store.secrets.ofInstance('acme/'), {})
  assert.deepEqual(
    (await store.acme.all()).map(({ subject }) => subject),
    ['shop.example.org'],
  )
})
