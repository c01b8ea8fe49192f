import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openStore, type SealingKey, type Store } from '../src/index.ts'
import { auditEntry, child, keyText, newProject, tamper, tempStore } from './temp-store.ts'

const key = (id: string): SealingKey => ({ id, key: randomBytes(32) })
const nothingMore = async () => {}

async function withSecrets(t: TestContext) {
  const checkpoint: { file?: string } = {}
  const temp = await tempStore(t)
  await temp.store.close()
  const options = { ...temp.options, checkpointFile: `${temp.file}.checkpoint` }
  checkpoint.file = options.checkpointFile
  const store = await openStore(options)
  t.after(() => store.close())
  const handles = await store.transaction(async (tx) => {
    const { id } = await tx.projects.insert(newProject('shop'))
    await tx.audit.append(auditEntry())
    return [await tx.secrets.put(null, 'instance', 'open sesame'), await tx.secrets.put(id, 'env A', 'swordfish')]
  })
  const texts = (from: Store) =>
    Promise.all(handles.map(async ({ secret }) => (await from.secrets.reveal(secret)).expose()))
  return { ...temp, store, options, handles, texts }
}

test('after a replacement everything is sealed with the new key, reads the same, and the log goes on', async (t) => {
  const { store, options, handles, texts, file } = await withSecrets(t)
  const next = key('key_b')
  const { settled, ...counts } = await store.replaceKey(next, async (tx, inside) => {
    await tx.audit.append(auditEntry({ action: 'secret_key.replace', changes: inside }))
  })
  assert.deepEqual([settled, counts], [true, { resealed: 2, unreadable: 0 }])
  assert.equal(store.sealing.keyId(), 'key_b')
  assert.deepEqual(await texts(store), ['open sesame', 'swordfish'])
  await store.transaction(async (tx) => {
    await tx.audit.append(auditEntry())
    const again = await tx.secrets.put(null, 'instance', 'open sesame')
    assert.deepEqual(again, handles[0], 'the same text under a new key is no new version')
  })
  assert.equal((await store.audit.verify()).ok, true)
  await store.close()

  const raw = new DatabaseSync(file)
  assert.deepEqual(
    raw
      .prepare('select distinct key_id from secrets')
      .all()
      .map((row) => row.key_id),
    ['key_b'],
  )
  raw.close()
  await assert.rejects(openStore(options), /sealed with the key key_b; the service was given the key key_a/)
  const again = await openStore({ ...options, sealingKey: next })
  t.after(() => again.close())
  assert.deepEqual(await texts(again), ['open sesame', 'swordfish'])
  assert.equal((await again.audit.verify()).ok, true)
})

test('a read while the key is replaced always gets the text', async (t) => {
  const { store, texts } = await withSecrets(t)
  let replacing = true
  const reading = (async () => {
    let reads = 0
    while (replacing) {
      assert.deepEqual(await texts(store), ['open sesame', 'swordfish'])
      reads += 1
      await new Promise(setImmediate)
    }
    return reads
  })()
  for (let turn = 0; turn < 20; turn++) await store.replaceKey(key(`key_${turn}`), nothingMore)
  replacing = false
  assert.ok((await reading) > 20)
})

test('a replacement that fails leaves the old key in use', async (t) => {
  const { store, texts, options } = await withSecrets(t)
  const fail = async () => {
    throw new Error('no')
  }
  await assert.rejects(store.replaceKey(key('key_b'), fail), /no/)
  assert.equal(store.sealing.keyId(), 'key_a')
  assert.deepEqual(await texts(store), ['open sesame', 'swordfish'])
  await store.transaction((tx) => tx.audit.append(auditEntry()))
  assert.equal((await store.audit.verify()).ok, true)
  await store.close()
  await (await openStore(options)).close()
})

test('a secret that was damaged before stays as it is and does not stand in the way', async (t) => {
  const { store, file, handles } = await withSecrets(t)
  const raw = new DatabaseSync(file, { timeout: 5000 })
  raw.exec(`update secrets set sealed = 'AAAA' where id = '${handles[1]?.secret}'`)
  raw.close()
  const { resealed, unreadable } = await store.replaceKey(key('key_b'), nothingMore)
  assert.deepEqual([resealed, unreadable], [1, 1])
  assert.equal((await store.secrets.reveal(handles[0]!.secret)).expose(), 'open sesame')
  await assert.rejects(store.secrets.reveal(handles[1]!.secret), { name: 'SecretError' })
})

test('a new seal does not repair a broken log', async (t) => {
  const { store, file } = await withSecrets(t)
  await store.transaction((tx) => tx.audit.append(auditEntry()))
  tamper(
    file,
    "update instance set value = json_set(value, '$.seq', 1) where name = 'audit_head'",
    'delete from audit where seq = 2',
  )
  await store.replaceKey(key('key_b'), async (tx) => {
    await tx.audit.append(auditEntry())
  })
  assert.equal((await store.audit.verify()).ok, false)
})

test('killed at any moment of a replacement, the old key or the new one opens everything', async (t) => {
  const outcomes = new Set<string>()
  const rounds = 10
  let whole = 0
  for (let round = rounds; round >= 0; round--) {
    const { store, options, file, texts } = await withSecrets(t)
    await store.transaction(async (tx) => {
      for (let index = 0; index < 200; index++) await tx.secrets.put(null, `more ${index}`, `text ${index}`)
    })
    await store.close()
    const next = key('key_b')
    const dying = child(t, 'replace-key.ts', file, options.checkpointFile, keyText(options), next.key.toString('hex'))
    const line = () => new Promise((resolve) => dying.lines.once('line', resolve))
    await line()
    const began = performance.now()
    // The first round is not cut off and says how long it takes; the others end at ever earlier moments of it.
    if (round === rounds) {
      await line()
      whole = performance.now() - began
    } else await new Promise((resolve) => setTimeout(resolve, (whole * round) / rounds))
    dying.kill()
    await dying.ended
    const opened = await openStore({ ...options, nextKey: next })
    t.after(() => opened.close())
    outcomes.add(opened.sealing.keyId())
    assert.deepEqual(await texts(opened), ['open sesame', 'swordfish'])
    const state = await opened.audit.verify()
    assert.equal(state.ok, true, String(state.reason))
    await opened.transaction((tx) => tx.audit.append(auditEntry()))
    // The keeper of the files forgets the other key now; it must not be needed any more.
    const used = opened.sealing.keyId() === 'key_b' ? next : options.sealingKey
    await opened.close()
    const alone = await openStore({ ...options, sealingKey: used })
    t.after(() => alone.close())
    assert.deepEqual(await texts(alone), ['open sesame', 'swordfish'])
    assert.equal((await alone.audit.verify()).ok, true)
  }
  assert.deepEqual([...outcomes].sort(), ['key_a', 'key_b'], 'both ends were seen')
})

test('an old copy of the database is told by the id of its key', async (t) => {
  const { store, options, file } = await withSecrets(t)
  await store.close()
  copyFileSync(file, `${file}.old`)
  const again = await openStore(options)
  const next = key('key_b')
  await again.replaceKey(next, nothingMore)
  await again.close()
  copyFileSync(`${file}.old`, file)
  await assert.rejects(openStore({ ...options, sealingKey: next }), /are sealed with the key key_a/)
})
