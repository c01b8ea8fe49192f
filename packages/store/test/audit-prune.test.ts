import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openStore } from '../src/index.ts'
import { auditEntry, tamper, tempStore, verifyAudit } from './temp-store.ts'

const day = 24 * 60 * 60 * 1000

/** An entry a day. */
async function withDays(t: TestContext, days: number) {
  const temp = await tempStore(t)
  for (let number = 1; number <= days; number += 1) {
    await temp.store.transaction((tx) => tx.audit.append(auditEntry({ target: `shop-${number}` })))
    temp.clock.pass(day)
  }
  const [first] = (await temp.store.audit.list({ limit: 200 })).toReversed()
  const after = (count: number) => new Date(Date.parse(first!.time) + count * day).toISOString()
  const prune = (count: number, most = 1000) => temp.store.transaction((tx) => tx.audit.prune(after(count), most))
  const seqs = async () => (await temp.store.audit.list({ limit: 200 })).map(({ seq }) => seq).toReversed()
  return { ...temp, after, prune, seqs }
}

test('the oldest entries go, the rest is verified from there on, also by another start and with another key', async (t) => {
  const { store, options, prune, seqs } = await withDays(t, 10)
  assert.equal(await prune(0), 0)
  assert.equal(await prune(4, 3), 3)
  assert.equal(await prune(4, 3), 1)
  assert.equal(await prune(4, 3), 0)
  assert.deepEqual(await seqs(), [5, 6, 7, 8, 9, 10])
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: 6, firstBroken: null })
  await store.transaction((tx) => tx.audit.append(auditEntry()))
  await store.close()
  const again = await openStore(options)
  t.after(() => again.close())
  assert.deepEqual(await verifyAudit(again), { ok: true, entries: 7, firstBroken: null })
})

test('the newest entry stays, however old it is', async (t) => {
  const { store, prune, seqs } = await withDays(t, 3)
  assert.equal(await prune(1000), 2)
  assert.deepEqual(await seqs(), [3])
  await store.transaction((tx) => tx.audit.append(auditEntry()))
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: 2, firstBroken: null })
})

test('what is not behind the base is as append only as before', async (t) => {
  const { file, prune } = await withDays(t, 5)
  await prune(2)
  const raw = new DatabaseSync(file)
  t.after(() => raw.close())
  assert.throws(() => raw.exec('delete from audit where seq = 3'), /audit is append only/)
  assert.throws(() => raw.exec("update audit set actor = 'eve'"), /audit is append only/)
})

test('a chain that is broken keeps its entries from there on', async (t) => {
  const { store, file, prune, seqs } = await withDays(t, 8)
  tamper(file, "update audit set actor = 'eve' where seq = 4")
  assert.equal(await prune(7), 3)
  assert.equal(await prune(7), 0)
  assert.deepEqual(await seqs(), [4, 5, 6, 7, 8])
  assert.equal((await store.audit.verify()).firstBroken, 4)
})

const attacks: readonly (readonly [string, number, readonly string[]])[] = [
  ['more of the beginning deleted than the base says', 5, ['delete from audit where seq <= 6']],
  [
    'more of the beginning deleted, and the base set to it without the key',
    1,
    [
      "update instance set value = json_set(value, '$.seq', 6, '$.hash', (select hash from audit where seq = 6)) where name = 'audit_base'",
      'delete from audit where seq <= 6',
    ],
  ],
  ['the base removed', 1, ["delete from instance where name = 'audit_base'"]],
  [
    'an entry put back before the base',
    2,
    [
      "insert into audit select 2, 'aud_forged', time, 'eve', action, target, project, outcome, changes, request_id, operation_id, source, ip, user_agent, prev_hash, hash, search from audit where seq = 7",
    ],
  ],
]

for (const [what, firstBroken, statements] of attacks) {
  test(`${what} is found at number ${firstBroken}`, async (t) => {
    const { store, file, prune } = await withDays(t, 10)
    await prune(4)
    tamper(file, ...statements)
    const found = await store.audit.verify()
    assert.deepEqual([found.ok, found.firstBroken], [false, firstBroken], found.reason ?? '')
    assert.equal(await store.transaction((tx) => tx.audit.prune('2099-01-01T00:00:00Z', 1000)), 0)
    assert.equal((await store.audit.verify()).ok, false)
  })
}
