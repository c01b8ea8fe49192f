import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { hashOf } from '../src/audit-chain.ts'
import { openStore } from '../src/index.ts'
import { auditEntry, newProject, tamper, tempStore, verifyAudit } from './temp-store.ts'

async function withEntries(test: TestContext, count: number) {
  const temp = await tempStore(test)
  await temp.store.transaction(async (tx) => {
    for (let number = 1; number <= count; number += 1) {
      await tx.audit.append(auditEntry({ target: `shop-${number}`, changes: { after: { z: number, a: [null, 'é'] } } }))
    }
  })
  return temp
}

test('the hash is SHA-256 over the hash before and the canonical JSON of the rest', async (t) => {
  const { store } = await withEntries(t, 2)
  const [second, first] = await store.audit.list({ limit: 2 })
  assert.ok(first && second)
  assert.equal(first.prevHash, '0'.repeat(64))
  assert.equal(second.prevHash, first.hash)
  const text =
    `{"action":"project.start","actor":"ada","changes":{"after":{"a":[null,"é"],"z":1}},"id":"${first.id}","ip":null,` +
    '"operationId":null,"outcome":"success","project":null,"requestId":null,"seq":1,"source":"api","target":"shop-1",' +
    '"time":"2026-01-01T00:00:00.000Z","userAgent":null}'
  assert.equal(first.hash, createHash('sha256').update(first.prevHash).update(text).digest('hex'))
})

test('a long whole chain is verified to its end, also after it was opened again', async (t) => {
  const { store, options } = await withEntries(t, 1203)
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: 1203, firstBroken: null })
  await store.close()
  const again = await openStore(options)
  t.after(() => again.close())
  await again.transaction((tx) => tx.audit.append(auditEntry()))
  assert.deepEqual(await verifyAudit(again), { ok: true, entries: 1204, firstBroken: null })
})

test('the chain is verified while entries are appended', async (t) => {
  const { store } = await withEntries(t, 1203)
  let done = false
  const verifying = store.audit.verify().finally(() => {
    done = true
  })
  let appended = 0
  for (; !done; appended += 1) await store.transaction((tx) => tx.audit.append(auditEntry()))
  assert.equal((await verifying).firstBroken, null)
  assert.ok(appended > 1)
})

test('the chain holds for texts and changes of every kind', async (t) => {
  const { store } = await tempStore(t)
  const odd = ['\0', '\ud800', '🔑', '"\\', '\u2028', 'Ａda', '']
  await store.transaction(async (tx) => {
    for (const text of odd) {
      const changes = { [text]: text, __proto__: null, gone: undefined, when: new Date(0), no: Number.NaN, minus: -0 }
      await tx.audit.append(auditEntry({ actor: text, userAgent: text, target: text, changes }))
    }
    await tx.audit.append(auditEntry({ changes: undefined }))
    await tx.audit.append(auditEntry({ changes: JSON.parse('{"__proto__": {"a": 1}}') }))
  })
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: odd.length + 2, firstBroken: null })
})

test('the service itself cannot change or delete an entry', async (t) => {
  const { file } = await withEntries(t, 1)
  const raw = new DatabaseSync(file)
  t.after(() => raw.close())
  assert.throws(() => raw.exec("update audit set actor = 'eve'"), /audit is append only/)
  assert.throws(() => raw.exec('delete from audit'), /audit is append only/)
})

const attacks: readonly (readonly [string, number, readonly string[]])[] = [
  ['a changed text', 4, ["update audit set actor = 'eve' where seq = 4"]],
  ['a changed outcome of the first entry', 1, ["update audit set outcome = 'denied' where seq = 1"]],
  ['changes that are no JSON any more', 6, ["update audit set changes = '{' where seq = 6"]],
  ['a changed hash', 5, [`update audit set hash = '${'a'.repeat(64)}' where seq = 5`]],
  ['a deleted entry', 4, ['delete from audit where seq = 4']],
  ['the first entry deleted', 1, ['delete from audit where seq = 1']],
  ['the last entry deleted', 10, ['delete from audit where seq = 10']],
  ['all entries deleted', 1, ['delete from audit']],
  [
    'an entry deleted and those after it numbered anew',
    4,
    ['delete from audit where seq = 4', 'update audit set seq = seq - 1 where seq > 4'],
  ],
  [
    'two entries exchanged',
    3,
    [
      'update audit set seq = 99 where seq = 3',
      'update audit set seq = 3 where seq = 4',
      'update audit set seq = 4 where seq = 99',
    ],
  ],
  [
    'an entry inserted between two',
    5,
    [
      'update audit set seq = -seq where seq >= 5',
      'update audit set seq = 1 - seq where seq < 0',
      "insert into audit select 5, 'aud_new', time, 'eve', action, target, project, outcome, changes, request_id, operation_id, source, ip, user_agent, prev_hash, hash, search from audit where seq = 4",
    ],
  ],
  [
    'all entries and the sealed head removed',
    1,
    ['delete from audit', "delete from instance where name = 'audit_head'"],
  ],
  ['the sealed head removed', 10, ["delete from instance where name = 'audit_head'"]],
  [
    'the last entry deleted and the head set back',
    9,
    [
      'delete from audit where seq = 10',
      "update instance set value = json_set(value, '$.seq', 9, '$.hash', (select hash from audit where seq = 9)) where name = 'audit_head'",
    ],
  ],
]

for (const [what, firstBroken, statements] of attacks) {
  test(`${what} is found at number ${firstBroken}, and going on does not hide it`, async (t) => {
    const { store, file } = await withEntries(t, 10)
    tamper(file, ...statements)
    const found = await store.audit.verify()
    assert.deepEqual([found.ok, found.firstBroken], [false, firstBroken])
    await store.transaction((tx) => tx.audit.append(auditEntry()))
    const later = await store.audit.verify()
    assert.equal(later.ok, false)
    assert.ok(later.firstBroken !== null && later.firstBroken <= 11)
    assert.ok((await store.audit.list({ limit: 50 })).length > 0)
  })
}

test('an entry added at the end with a right hash but without the key is found', async (t) => {
  const { store, file } = await withEntries(t, 3)
  const [last] = await store.audit.list({ limit: 1 })
  assert.ok(last)
  const forged = { ...last, seq: 4, id: 'aud_forged', actor: 'eve', prevHash: last.hash }
  tamper(
    file,
    `insert into audit select 4, 'aud_forged', time, 'eve', action, target, project, outcome, changes, request_id, operation_id, source, ip, user_agent, '${last.hash}', '${hashOf(forged)}', search from audit where seq = 3`,
  )
  assert.deepEqual(await verifyAudit(store), { ok: false, entries: 4, firstBroken: 4 })
})

test('a chain computed anew from a changed entry on, without the key, is found', async (t) => {
  const { store, file } = await withEntries(t, 3)
  const [last] = await store.audit.list({ limit: 1 })
  assert.ok(last)
  const forged = { ...last, actor: 'eve' }
  tamper(file, `update audit set actor = 'eve', hash = '${hashOf(forged)}' where seq = 3`)
  assert.deepEqual(await verifyAudit(store), { ok: false, entries: 3, firstBroken: 3 })
})

test('entries are listed newest first, by what was asked, and a cursor goes on where the page ended', async (t) => {
  const { store, clock } = await tempStore(t)
  const append = (changes: Parameters<typeof auditEntry>[0]) =>
    store.transaction((tx) => tx.audit.append(auditEntry(changes)))
  await append({ actor: 'ada', action: 'project.create', target: '100%_SÜSS', project: 'prj_1' })
  clock.pass(1000)
  await append({ actor: 'ada (token: ci)', action: 'project.start', project: 'prj_1' })
  clock.pass(1000)
  await append({ actor: 'adam', action: 'project.start', project: 'prj_2', outcome: 'denied' })
  const seqs = async (options: Omit<Parameters<typeof store.audit.list>[0], 'limit'>) =>
    (await store.audit.list({ limit: 50, ...options })).map((entry) => entry.seq)

  assert.deepEqual(await seqs({}), [3, 2, 1])
  assert.deepEqual(await seqs({ cursor: '3' }), [2, 1])
  assert.deepEqual(await seqs({ actor: 'ada' }), [2, 1])
  assert.deepEqual(await seqs({ action: 'project.start' }), [3, 2])
  assert.deepEqual(await seqs({ project: 'prj_1' }), [2, 1])
  assert.deepEqual(await seqs({ outcome: 'denied' }), [3])
  assert.deepEqual(await seqs({ since: '2026-01-01T00:00:01Z' }), [3, 2])
  assert.deepEqual(await seqs({ until: '2026-01-01T01:00:01+01:00' }), [2, 1])
  assert.deepEqual(await seqs({ q: '100%_süss' }), [1])
  assert.deepEqual(await seqs({ q: '1000' }), [])
  assert.deepEqual(await seqs({ q: '%' }), [1])
})

test('entries and events outlive their project', async (t) => {
  const { store } = await tempStore(t)
  const { id } = await store.transaction(async (tx) => {
    const project = await tx.projects.insert(newProject('shop'))
    await tx.audit.append(auditEntry({ project: project.id }))
    await tx.events.append({ type: 'project.created', project: project.id, data: {} })
    return project
  })
  await store.transaction((tx) => tx.projects.delete(id))
  assert.equal((await store.audit.list({ limit: 5, project: id })).length, 1)
  assert.equal((await store.events.after(0, 5))[0]?.project, id)
})
