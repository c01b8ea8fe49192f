import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openStore, type Store, TakenError } from '../src/index.ts'
import { tempStore } from './temp-store.ts'

const addUser = (store: Store, id: string) =>
  store.transaction((tx) => tx.users.insert({ id, username: id.slice(4), role: 'admin', passwordHash: 'argon' }))

const passkey = (id: string, user = 'usr_ada') => ({
  ...{ id, user, name: 'Laptop', credential: `credential of ${id}`, publicKey: 'key', counter: 0 },
  ...{ transports: ['internal'], rpId: 'localhost' },
})

test('the secret of codes is sealed for its person, and sealed anew with a new key', async (t) => {
  const { store, file, options } = await tempStore(t)
  await addUser(store, 'usr_ada')
  await addUser(store, 'usr_eve')
  await store.transaction((tx) => tx.secondFactors.addTotp({ user: 'usr_ada', secret: 'MZXW6YTBOI', step: 7 }))
  await assert.rejects(
    store.transaction((tx) => tx.secondFactors.addTotp({ user: 'usr_ada', secret: 'OTHER', step: 7 })),
    TakenError,
  )
  const totp = async (from: Store, user = 'usr_ada') => (await from.secondFactors.of(user)).totp
  assert.equal((await totp(store))?.secret?.expose(), 'MZXW6YTBOI')
  const next = { id: 'key_b', key: randomBytes(32) }
  const { resealed, unreadable } = await store.replaceKey(next, async () => {})
  assert.deepEqual([resealed, unreadable], [1, 0])
  assert.equal((await totp(store))?.secret?.expose(), 'MZXW6YTBOI')
  await store.close()

  const raw = new DatabaseSync(file)
  assert.deepEqual({ ...raw.prepare('select user, key_id from totp').get() }, { user: 'usr_ada', key_id: 'key_b' })
  raw.exec("update totp set user = 'usr_eve'")
  raw.close()
  const again = await openStore({ ...options, sealingKey: next })
  t.after(() => again.close())
  assert.equal((await totp(again, 'usr_eve'))?.secret, null, 'moved to another person it opens nothing')
})

test('steps and counters only grow, and codes go with their use', async (t) => {
  const { store } = await tempStore(t)
  await addUser(store, 'usr_ada')
  const inside = store.transaction
  await inside((tx) => tx.secondFactors.addTotp({ user: 'usr_ada', secret: 'S', step: 7 }))
  const step = (one: number) => inside((tx) => tx.secondFactors.useStep('usr_ada', one))
  assert.deepEqual(
    [await step(7), await step(6), await step(9), await step(8), await step(9)],
    [false, false, true, false, false],
  )
  await inside((tx) => tx.secondFactors.countFailure('usr_ada'))
  assert.equal((await store.secondFactors.of('usr_ada')).totp?.failures, 1)
  await step(10)
  assert.equal((await store.secondFactors.of('usr_ada')).totp?.failures, 0)

  await inside((tx) => tx.secondFactors.addPasskey(passkey('psk_1')))
  await assert.rejects(
    inside((tx) => tx.secondFactors.addPasskey({ ...passkey('psk_2'), credential: 'credential of psk_1' })),
    TakenError,
  )
  const use = (counter: number) => inside((tx) => tx.secondFactors.usePasskey('psk_1', counter))
  assert.deepEqual(
    [await use(0), await use(0), await use(5), await use(5), await use(0), await use(6)],
    [true, true, true, false, false, true],
  )

  await inside((tx) => tx.secondFactors.putRecoveryCodes('usr_ada', ['one', 'two']))
  const code = (hash: string, user = 'usr_ada') => inside((tx) => tx.secondFactors.useRecoveryCode(user, hash))
  assert.deepEqual([await code('one', 'usr_eve'), await code('one'), await code('one')], [false, true, false])
  assert.equal((await store.secondFactors.of('usr_ada')).recoveryCodes, 1)
})

test('all of a person’s factors go with the person', async (t) => {
  const { store, file } = await tempStore(t)
  await addUser(store, 'usr_ada')
  await addUser(store, 'usr_eve')
  await store.transaction(async ({ secondFactors }) => {
    await secondFactors.addTotp({ user: 'usr_ada', secret: 'S', step: 7 })
    await secondFactors.addPasskey(passkey('psk_1'))
    await secondFactors.addPasskey(passkey('psk_2', 'usr_eve'))
    await secondFactors.putRecoveryCodes('usr_ada', ['one', 'two'])
  })
  assert.deepEqual(Object.fromEntries(await store.secondFactors.kinds()), {
    usr_ada: ['totp', 'passkey'],
    usr_eve: ['passkey'],
  })
  await store.transaction((tx) => tx.users.delete('usr_ada'))
  await store.transaction((tx) => tx.secondFactors.removeAll('usr_eve'))
  await store.close()
  const raw = new DatabaseSync(file, { readOnly: true })
  for (const table of ['totp', 'passkeys', 'recovery_codes'])
    assert.equal(raw.prepare(`select count(*) as n from ${table}`).get()?.n, 0, table)
  raw.close()
})
