import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { EventRecord } from '@stackquay/contract'
import { Kysely } from 'kysely'
import { SqliteDialect, SqliteFile } from '../src/dialect.ts'
import { openStore, StoreBusyError } from '../src/index.ts'
import { auditEntry, child, keyText, newProject, tempFile, tempStore, verifyAudit } from './temp-store.ts'

test('a transaction that throws leaves nothing: no row, no audit entry, no event, no number used up', async (t) => {
  const { store } = await tempStore(t)
  const heard: EventRecord[] = []
  store.onCommit((events) => heard.push(...events))
  const attempt = store.transaction(async (tx) => {
    const { id } = await tx.projects.insert(newProject('shop'))
    await tx.secrets.put(id, 'PASSWORD', 'hunter2')
    await tx.ports.lease(id, 'web', 'http', [20000])
    await tx.settings.set('theme', 'dark')
    await tx.events.append({ type: 'project.created', project: id, data: {} })
    await tx.audit.append(auditEntry())
    throw new Error('changed my mind')
  })
  await assert.rejects(attempt, /changed my mind/)
  assert.deepEqual(await store.projects.all(), [])
  assert.deepEqual(await store.ports.all(), [])
  assert.equal(await store.settings.get('theme'), null)
  assert.deepEqual(await store.events.range(), { first: 0, last: 0 })
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: 0, firstBroken: null })
  assert.equal(heard.length, 0)

  await store.transaction((tx) => tx.events.append({ type: 'project.changed', project: null, data: {} }))
  assert.deepEqual(
    heard.map((event) => event.seq),
    [1],
  )
})

test('readers see the state before until the commit, and never wait for a transaction', async (t) => {
  const { store } = await tempStore(t)
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const { promise: written, resolve: wrote } = Promise.withResolvers<void>()
  const writing = store.transaction(async (tx) => {
    await tx.projects.insert(newProject('shop'))
    wrote()
    await goOn
  })
  await written
  assert.equal(await store.projects.find('shop'), null)
  assert.deepEqual(await store.checkIntegrity(), [])
  finish()
  await writing
  assert.equal((await store.projects.find('shop'))?.slug, 'shop')
})

test('a hundred transactions at once run one after the other, and listeners hear them in that order', async (t) => {
  const { store } = await tempStore(t)
  const heard: number[] = []
  store.onCommit((events) => heard.push(...events.map((event) => event.seq)))
  let running = 0
  const { id } = await store.transaction((tx) => tx.projects.insert(newProject('shop')))
  await Promise.all(
    Array.from({ length: 100 }, (_, number) =>
      store.transaction(async (tx) => {
        running += 1
        assert.equal(running, 1)
        const row = await tx.projects.setLifecycle(id, { path: `/projects/${number}` })
        await new Promise((resolve) => setImmediate(resolve))
        assert.equal(row.revision, number + 2)
        await tx.events.append({ type: 'project.changed', project: id, data: { number } })
        await tx.audit.append(auditEntry())
        running -= 1
      }),
    ),
  )
  assert.deepEqual(
    heard,
    Array.from({ length: 100 }, (_, index) => index + 1),
  )
  assert.deepEqual(
    (await store.events.after(0, 200)).map((event) => event.data.number),
    Array.from({ length: 100 }, (_, index) => index),
  )
  assert.equal((await store.projects.find(id))?.revision, 101)
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: 100, firstBroken: null })
})

test('transactions in a row leave the event loop its turns', async (t) => {
  const { store } = await tempStore(t)
  let turns = 0
  const turn = () => {
    turns += 1
    pulse = setImmediate(turn)
  }
  let pulse = setImmediate(turn)
  for (let number = 0; number < 20; number += 1) await store.transaction((tx) => tx.settings.set('number', number))
  clearImmediate(pulse)
  assert.ok(turns >= 19, `${turns} turns`)
})

test('a listener that throws is reported and harms neither the others nor the transaction', async (t) => {
  const reported: unknown[] = []
  const { store } = await tempStore(t, { report: (error) => reported.push(error) })
  const heard: string[] = []
  store.onCommit(() => {
    throw new Error('deaf')
  })
  const end = store.onCommit((events) => heard.push(...events.map((event) => event.type)))
  await store.transaction((tx) => tx.events.append({ type: 'project.created', project: null, data: {} }))
  assert.deepEqual(heard, ['project.created'])
  assert.match(String(reported[0]), /deaf/)
  end()
  await store.transaction((tx) => tx.events.append({ type: 'project.deleted', project: null, data: {} }))
  assert.deepEqual(heard, ['project.created'])
})

test('a listener hears of an event when it can be read', async (t) => {
  const { store } = await tempStore(t)
  const seen: Promise<unknown>[] = []
  store.onCommit(() => seen.push(store.projects.find('shop')))
  await store.transaction(async (tx) => {
    const { id } = await tx.projects.insert(newProject('shop'))
    await tx.events.append({ type: 'project.created', project: id, data: {} })
  })
  assert.notEqual(await seen[0], null)
})

test('a transaction inside a transaction is refused instead of waiting for itself', async (t) => {
  const { store } = await tempStore(t)
  await assert.rejects(
    store.transaction(async () => await store.transaction(async () => 1)),
    /wait for itself/,
  )
  assert.equal(await store.transaction(async () => 1), 1)
})

test('a change after the end of its transaction is refused', async (t) => {
  const { store } = await tempStore(t)
  const late = await store.transaction(async (tx) => tx)
  await assert.rejects(late.projects.insert(newProject('late')))
  assert.deepEqual(await store.projects.all(), [])
})

test('two processes write to the same file in turn; neither fails and the chain holds', async (t) => {
  const { store, file, options } = await tempStore(t)
  const other = child(t, 'write-on.ts', file, options.sealingKey.id, keyText(options), 'other', '60')
  let mine = 0
  let theirs = 0
  other.lines.on('line', () => {
    theirs += 1
  })
  while (theirs < 60) {
    await store.transaction(async (tx) => {
      await tx.projects.insert(newProject(`mine-${mine}`))
      await tx.audit.append(auditEntry())
    })
    mine += 1
    await new Promise((resolve) => setTimeout(resolve, 2))
    assert.ok(mine < 20_000, other.complaints())
  }
  assert.equal((await other.ended).code, 0, other.complaints())
  assert.ok(mine > 1)
  assert.equal((await store.projects.all()).length, mine + 60)
  assert.deepEqual(await verifyAudit(store), { ok: true, entries: mine + 60, firstBroken: null })
})

test('a second store on the same file waits for the write lock without holding up the event loop', async (t) => {
  const { store, options } = await tempStore(t)
  const second = await openStore(options)
  t.after(() => second.close())
  const { promise: goOn, resolve: finish } = Promise.withResolvers<void>()
  const first = store.transaction(async (tx) => {
    await tx.projects.insert(newProject('one'))
    await goOn
  })
  const waiting = second.transaction((tx) => tx.projects.insert(newProject('two')))
  let beats = 0
  const pulse = setInterval(() => {
    beats += 1
    if (beats === 5) finish()
  }, 5)
  await Promise.all([first, waiting])
  clearInterval(pulse)
  assert.ok(beats >= 5)
  assert.equal((await store.projects.all()).length, 2)
})

test('a lock that another process keeps is said in words after a while, and then nothing was written', async (t) => {
  const path = tempFile(t)
  const holder = new DatabaseSync(path)
  t.after(() => holder.close())
  holder.exec('create table notes (text text); begin immediate')
  const file = new SqliteFile(path, new DatabaseSync(path))
  t.after(() => file.close())
  const db = new Kysely<{ notes: { text: string } }>({ dialect: new SqliteDialect(file, 50) })
  const write = () => db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'late' }).execute())
  await assert.rejects(write(), (error: unknown) => {
    assert.ok(error instanceof StoreBusyError, String(error))
    assert.match(error.message, /is locked by another process\. Wait for it to end/)
    return true
  })
  holder.exec('commit')
  await write()
  assert.equal((await db.selectFrom('notes').selectAll().execute()).length, 1)
})
