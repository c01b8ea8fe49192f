import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { SecretError } from '../src/index.ts'
import { tempStore } from './temp-store.ts'

const canary = 'key-canary-5f2c1e'
const shop = {
  source: 'own',
  subject: 'shop.example.org',
  names: ['shop.example.org'],
  certificate: 'PEM',
  notBefore: '2026-11-01T00:00:00.000Z',
  notAfter: '2027-01-01T00:00:00.000Z',
  nextRenewal: null,
} as const

test('a certificate keeps its key sealed, and the next for the same subject takes its place with it', async (t) => {
  const { store, file } = await tempStore(t)
  const first = await store.transaction((tx) => tx.certificates.put(shop, canary))
  assert.equal(first.replaced, null)
  assert.equal((await store.certificates.key(first.id)).expose(), canary)
  assert.deepEqual((await store.certificates.find(first.id))?.names, shop.names)
  for (const part of ['', '-wal']) assert.equal(readFileSync(file + part).includes(canary), false, `in ${file}${part}`)

  const second = await store.transaction((tx) => tx.certificates.put(shop, 'another'))
  assert.equal(second.replaced, first.id)
  const other = await store.transaction((tx) => tx.certificates.put({ ...shop, source: 'local' }, 'third'))
  assert.equal(other.replaced, null, 'of another source')
  assert.deepEqual((await store.certificates.all()).map(({ id }) => id).sort(), [second.id, other.id].sort())
  await assert.rejects(store.certificates.key(first.id), SecretError)

  const failure = { at: shop.notBefore, detail: 'no answer' }
  await store.transaction((tx) => tx.certificates.fail(second.id, failure, shop.notAfter))
  const failed = await store.certificates.find(second.id)
  assert.deepEqual([failed?.lastFailure, failed?.nextRenewal], [failure, shop.notAfter])
  await store.transaction((tx) => tx.certificates.delete(second.id))
  assert.equal(await store.certificates.find(second.id), null)
  assert.deepEqual(Object.keys(await store.secrets.ofInstance('certificate/')), [`certificate/${other.id}`])
})

test('a new secret key seals the keys of certificates again', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.certificates.put(shop, canary))
  const { settled: _, ...counts } = await store.replaceKey({ id: 'key_b', key: randomBytes(32) }, async () => {})
  assert.deepEqual(counts, { resealed: 1, unreadable: 0 })
  assert.equal((await store.certificates.key(id)).expose(), canary)
})
