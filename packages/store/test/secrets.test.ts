import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SecretError } from '../src/index.ts'
import { seal, unseal } from '../src/sealing.ts'
import { newProject, tempStore } from './temp-store.ts'

const because = (reason: SecretError['reason']) => (error: unknown) =>
  error instanceof SecretError && error.reason === reason

test('what is sealed opens with the same key about the same thing, byte for byte, and with nothing else', () => {
  const key = { id: 'a', key: randomBytes(32) }
  for (const text of ['', 'hunter2', 'naïve 🔑 "\'$`\\\n\0', 'x'.repeat(100_000)]) {
    const sealed = seal(key, text, ['here', 1])
    assert.equal(unseal(key, sealed, ['here', 1]), text)
    assert.equal(unseal(key, sealed, ['here', 2]), null)
    assert.equal(unseal({ id: 'a', key: randomBytes(32) }, sealed, ['here', 1]), null)
    assert.notEqual(seal(key, text, ['here', 1]), sealed)
  }
  assert.equal(unseal(key, '', []), null)
})

test('every flipped bit of a sealed text is noticed', () => {
  const key = { id: 'a', key: randomBytes(32) }
  const bytes = Buffer.from(seal(key, 'hunter2', []), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.equal(unseal(key, flipped.toString('base64url'), []), null)
  }
})

test('a secret keeps its version with the same text and counts it with another', async (t) => {
  const { store } = await tempStore(t)
  const put = (text: string) => store.transaction((tx) => tx.secrets.put(null, 'smtp', text))
  const first = await put('one')
  assert.equal(first.version, 1)
  assert.deepEqual(await put('one'), first)
  assert.deepEqual(await put('two'), { secret: first.secret, version: 2 })
  assert.equal((await store.secrets.reveal(first.secret)).expose(), 'two')
  assert.deepEqual(await store.secrets.find(null, 'smtp'), { secret: first.secret, version: 2 })
})

test('the same name in two projects and in the instance is three secrets', async (t) => {
  const { store } = await tempStore(t)
  const [one, two] = await store.transaction(async (tx) => [
    await tx.projects.insert(newProject('one')),
    await tx.projects.insert(newProject('two')),
  ])
  assert.ok(one && two)
  await store.transaction(async (tx) => {
    for (const owner of [one.id, two.id, null]) await tx.secrets.put(owner, 'PASSWORD', `of ${owner}`)
  })
  for (const owner of [one.id, two.id, null]) {
    const handle = await store.secrets.find(owner, 'PASSWORD')
    assert.equal((await store.secrets.reveal(handle?.secret ?? '')).expose(), `of ${owner}`)
  }
  assert.deepEqual(await store.secrets.projectsWith('PASSWORD'), new Set([one.id, two.id]))
  assert.deepEqual(await store.secrets.projectsWith('TOKEN'), new Set())
  assert.deepEqual(Object.keys(await store.secrets.of(one.id)), ['PASSWORD'])
  await store.transaction((tx) => tx.secrets.delete(one.id, 'PASSWORD'))
  assert.deepEqual(await store.secrets.of(one.id), {})
  assert.notEqual(await store.secrets.find(two.id, 'PASSWORD'), null)
})

test('a secret that is missing, sealed with another key, changed or moved cannot be revealed, and says why', async (t) => {
  const { store, file } = await tempStore(t)
  const [left, right] = await store.transaction(async (tx) => [
    await tx.secrets.put(null, 'left', 'hunter2'),
    await tx.secrets.put(null, 'right', 'swordfish'),
  ])
  assert.ok(left && right)
  await assert.rejects(store.secrets.reveal('sec_gone'), because('missing'))

  const raw = new DatabaseSync(file)
  t.after(() => raw.close())
  raw.exec("update secrets set sealed = (select sealed from secrets where name = 'right') where name = 'left'")
  await assert.rejects(store.secrets.reveal(left.secret), because('damaged'))
  raw.exec("update secrets set version = 9 where name = 'right'")
  await assert.rejects(store.secrets.reveal(right.secret), because('damaged'))
  raw.exec("update secrets set key_id = 'key_z' where name = 'right'")
  await assert.rejects(store.secrets.reveal(right.secret), because('other_key'))

  const fixed = await store.transaction((tx) => tx.secrets.put(null, 'left', 'hunter2'))
  assert.equal(fixed.version, 2)
  assert.equal((await store.secrets.reveal(left.secret)).expose(), 'hunter2')
})

test('no file of the database contains the text of a secret', async (t) => {
  const { store, file } = await tempStore(t)
  const text = 'correct-horse-battery-staple'
  await store.transaction((tx) => tx.secrets.put(null, 'smtp', text))
  for (const end of ['', '-wal']) assert.ok(!readFileSync(`${file}${end}`).includes(text))
  assert.ok(readFileSync(`${file}-wal`).includes('smtp'))
})

test('a text that was replaced or dropped can be read until its successor was carried out', async (t) => {
  const { store } = await tempStore(t)
  const { id, spec } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const first = await store.transaction((tx) => tx.secrets.put(id, 'variable/KEY', 'one'))
  const second = await store.transaction((tx) => tx.secrets.put(id, 'variable/KEY', 'two'))
  const text = async ({ secret, version }: typeof first) => (await store.secrets.reveal(secret, version)).expose()
  assert.deepEqual([await text(first), await text(second)], ['one', 'two'])
  await store.transaction((tx) => tx.secrets.drop(id, 'variable/KEY'))
  assert.deepEqual([await text(first), await text(second)], ['one', 'two'])
  assert.deepEqual(await store.secrets.of(id), {})

  await store.replaceKey({ id: 'next', key: randomBytes(32) }, async () => undefined)
  assert.deepEqual([await text(first), await text(second)], ['one', 'two'])

  const changed = await store.transaction((tx) =>
    tx.projects.update(id, 1, { spec: { ...spec, healthCheck: { path: '/', timeoutSeconds: 5 } } }),
  )
  assert.deepEqual([changed.observedGeneration, changed.heldSpec], [1, spec])
  await store.transaction((tx) => tx.projects.carriedOut(id, 1, spec))
  assert.equal(await text(second), 'two')
  const held = await store.transaction((tx) => tx.projects.carriedOut(id, 2, changed.spec))
  assert.deepEqual([held.observedGeneration, held.heldSpec], [2, null])
  for (const gone of [first, second]) await assert.rejects(text(gone), SecretError)
})

test('a text that is deleted for good leaves none of its versions', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  const first = await store.transaction((tx) => tx.secrets.put(id, 'database/main/password', 'one'))
  await store.transaction((tx) => tx.secrets.put(id, 'database/main/password', 'two'))
  await store.transaction((tx) => tx.secrets.delete(id, 'database/main/password'))
  await assert.rejects(store.secrets.reveal(first.secret, first.version), SecretError)
})
